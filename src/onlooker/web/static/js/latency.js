// From taking a frame in the browser to its answer: the last few hundred, and what is usual.

const KEPT = 300;
const times = [];
let count = 0;

/** A frame took so many milliseconds. */
export function took(milliseconds) {
  count += 1;
  times.push(milliseconds);
  if (times.length > KEPT) times.shift();
  if (count % 10 === 1) publish();
}

/** The middle and the slowest 5 %, in milliseconds; null before the first frame. */
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
