// Small charts in SVG. They use attributes only: the policy of the page forbids inline styles.

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

const short = new Intl.DateTimeFormat(S.language.dates, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

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

/** How far faces are from the nearest labeled face of each person: own ones above, of others below. */
export function distanceRows({ people, pairs, reach, trust_radius: radius, proposed }) {
  const T = S.audit;
  const nearest = new Map(people.map((one) => [one.name, []]));
  for (const { first, second, near_label: faces } of pairs) {
    nearest.get(first).push([faces.distance, second]);
    nearest.get(second).push([faces.distance, first]);
  }
  const all = [reach, radius ?? 0, proposed ?? 0, ...people.flatMap((one) => one.learned), ...[...nearest.values()].flatMap((some) => some.map(([gap]) => gap))];
  const end = 1.04 * Math.max(...all);
  const at = (gap) => (WIDTH * gap) / end;
  const tick = (kind, gap, top, bottom) => shape("line", { x1: at(gap), x2: at(gap), y1: top, y2: bottom, class: kind });
  const marks = [["chart-reach", reach], ["chart-radius", radius], ["chart-proposed", proposed === radius ? null : proposed]].filter(([, gap]) => gap !== null);
  const rows = people.map((one) => {
    const others = nearest.get(one.name).sort(([a], [b]) => a - b);
    const words = T.row(one.name, one.learned.at(-1), others[0]);
    const svg = shape("svg", { viewBox: `0 0 ${WIDTH} 28`, class: "strip", role: "img", "aria-label": words, preserveAspectRatio: "none" });
    svg.append(...marks.map(([kind, gap]) => tick(kind, gap, 0, 28)), ...one.learned.map((gap) => tick("chart-own", gap, 3, 13)), ...others.map(([gap]) => tick("chart-other", gap, 15, 25)));
    return h("li", {}, h("span", { class: "strip-name" }, one.name), svg, h("span", { class: "quiet small strip-near" }, T.nearest(others[0])));
  });
  const key = [["chart-own", T.keyOwn], ["chart-other", T.keyOther], ["chart-reach", T.keyReach(reach)], ...(radius === null ? [] : [["chart-radius", T.keyRadius(radius)]]), ...(proposed === null || proposed === radius ? [] : [["chart-proposed", T.keyProposed(proposed)]])];
  const legend = key.map(([kind, words]) => {
    const swatch = shape("svg", { viewBox: "0 0 12 14", class: "strip-key", "aria-hidden": "true" });
    swatch.append(shape("line", { x1: 6, x2: 6, y1: 1, y2: 13, class: kind }));
    return h("span", {}, swatch, words);
  });
  return h("figure", { class: "chart-box strips" }, h("ul", {}, rows), h("figcaption", { class: "small quiet" }, legend));
}
