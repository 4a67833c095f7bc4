// Time from taking a frame in the browser to its answer: statistics of the last few hundred.

const LIMIT = 300;
const times = [];
let count = 0;

/** Record the milliseconds of one frame. */
export function record(milliseconds) {
  count += 1;
  times.push(milliseconds);
  if (times.length > LIMIT) times.shift();
  if (count % 10 === 1) publish();
}

/** Median and 95th percentile in milliseconds; null before the first frame. */
export function latency() {
  if (!times.length) return null;
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p95: at(0.95), frames: count };
}

function publish() {
  const { p50, p95, frames } = latency();
  const { dataset } = document.documentElement;
  dataset.latencyP50 = p50.toFixed(1);
  dataset.latencyP95 = p95.toFixed(1);
  dataset.latencyFrames = frames;
}
