// A small bar chart in SVG. It uses attributes only: the policy of the page forbids inline styles.

import { h } from "./dom.js";
import { S } from "./strings.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 96;

function shape(kind, attributes) {
  const made = document.createElementNS(SPACE, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** A chart of counts between two times. */
export function barChart({ from, to, counts }) {
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": S.people.chart(total, Math.max(0, ...counts)), preserveAspectRatio: "none" });
  const step = WIDTH / counts.length;
  counts.forEach((count, at) => {
    const height = count ? Math.max(4, (count / most) * (HEIGHT - 6)) : 2;
    svg.append(shape("rect", { x: at * step + step * 0.12, y: HEIGHT - height, width: step * 0.76, height, rx: Math.min(3, step * 0.3), class: count ? "chart-bar" : "chart-none" }));
  });
  const ends = [from, to].map((time) => h("span", {}, short.format(new Date(1000 * time))));
  return h("figure", { class: "chart-box" }, svg, h("figcaption", { class: "small quiet" }, ends[0], h("span", {}, total ? S.people.chart(total, most) : S.people.noHistory), ends[1]));
}
