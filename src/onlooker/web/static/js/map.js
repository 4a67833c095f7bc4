// Map: the similarity graph of all stored faces, updated while it is open.

import { get, pictureOf } from "./api.js";
import { every, on, throttle } from "./bus.js";
import { button, color, face, h, setText } from "./dom.js";
import { viewport } from "./map_viewport.js";
import { Painter } from "./map_draw.js";
import { Layout } from "./map_layout.js";
import { Portraits } from "./map_portraits.js";
import { mapTable } from "./map_table.js";
import { stylesOf } from "./palette.js";
import { emptyState, heading } from "./router.js";
import { session } from "./session.js";
import { S } from "./strings.js";
import { counter, summary } from "./summary.js";
import { mayMove } from "./theme.js";
import { openVertex } from "./why.js";

const AHEAD = 120; // layout steps before the first picture, so that the vertices do not start in one heap
const STEPS = 400; // all layout steps at once for users who prefer reduced motion
const layout = new Layout(); // shared by all visits of the view, so that places do not change
let tag = null;
let graph = { vertices: [], links: [] };

/** Fill the page. */
export function mapView(page, { signal }) {
  const canvas = h("canvas", { class: "map-canvas", tabindex: "0", role: "application", "aria-describedby": "map-help" });
  const announcement = h("p", { class: "hidden", role: "status" });
  const tip = h("div", { class: "map-tip", hidden: true, "aria-hidden": "true" });
  const legend = h("ul", { class: "map-legend" });
  const count = counter();
  const learned = h("p", { class: "map-learned" }, `${S.live.learnedFrom} `, count.element, ` ${S.live.unlabeled(2)}`);
  const stage = h("div", { class: "map-stage" }, canvas, tip, learned, legend);
  const zooms = h("div", { class: "map-tools" }, [[S.map.zoomIn, "+", 1.3], [S.map.zoomOut, "−", 1 / 1.3], [S.map.fit, "◻", 0]].map(([words, sign, by]) => button(sign, () => view.zoomBy(by), { "aria-label": words, title: words, class: "round" })));
  stage.append(zooms);
  const empty = emptyState(S.map.empty, S.map.emptyWords, h("a", { class: "button primary", href: "#/strangers" }, S.people.toStrangers));
  const table = mapTable(signal);
  const help = h("p", { class: "quiet small", id: "map-help" }, S.map.help);
  const waiting = h("p", { class: "quiet", role: "status" }, S.map.loading);
  page.append(heading(S.views.map, S.map.lead), waiting, stage, empty, announcement, help, table.element);
  stage.hidden = help.hidden = table.element.hidden = true;
  empty.hidden = true;

  let styles = new Map();
  let active = null;
  let backgroundColor = "";
  let textColor = "";
  let frame = 0;
  const pulses = new Map();
  const painter = new Painter(canvas, new Portraits(() => requestPaint(), signal));
  const view = viewport(canvas, layout, requestPaint, signal);

  function paint(now) {
    frame = 0;
    if (signal.aborted || stage.hidden) return;
    if (layout.moving) layout.tick();
    const moved = view.follow();
    painter.draw({ graph, layout, styles, view: view.at, active, pulses, backgroundColor, textColor, now });
    for (const [vertex, since] of pulses) if (now - since > 1300) pulses.delete(vertex);
    placeTip();
    canvas.dataset.painted = Number(canvas.dataset.painted ?? 0) + 1;
    if (layout.moving || moved || pulses.size) requestPaint();
  }
  function requestPaint() {
    frame ||= requestAnimationFrame(paint);
  }

  function applyColors() {
    backgroundColor = color("--background");
    textColor = color("--text");
    const names = [...new Set(graph.vertices.map((vertex) => vertex.name).filter((name) => name !== null))];
    styles = stylesOf(names, isDark(backgroundColor));
    painter.prepare(graph, styles);
    legend.replaceChildren(
      h("li", {}, h("span", { class: "key ringed" }), S.map.legendLabeled),
      h("li", {}, h("span", { class: "key" }), S.map.legendLearned),
      h("li", {}, h("span", { class: "key big" }), S.map.legendSize),
    );
    canvas.setAttribute("aria-label", S.map.label(graph.vertices.length, names.length));
    canvas.dataset.vertices = graph.vertices.length;
    requestPaint();
  }

  function update(found) {
    const before = new Map(graph.vertices.map((vertex) => [vertex.vertex, vertex.examples]));
    const was = active === null ? null : graph.vertices[active]?.vertex;
    const first = !layout.ids;
    waiting.hidden = true;
    stage.hidden = help.hidden = table.element.hidden = !found.vertices.length;
    empty.hidden = found.vertices.length > 0;
    setText(help, found.left_out ? `${S.map.leftOut(found.vertices.length, found.left_out)} ${S.map.help}` : S.map.help);
    graph = found;
    if (canvas.clientHeight) layout.aspect = canvas.clientWidth / canvas.clientHeight;
    layout.update(graph.vertices, graph.links);
    const ahead = mayMove() ? (first ? AHEAD : 0) : STEPS;
    for (let step = 0; step < ahead && layout.moving; step += 1) layout.tick();
    if (before.size && mayMove()) {
      for (const vertex of graph.vertices) if (before.get(vertex.vertex) !== vertex.examples) pulses.set(vertex.vertex, performance.now());
    }
    active = was === null ? null : graph.vertices.findIndex((vertex) => vertex.vertex === was);
    if (active === -1) active = null;
    painter.portraits.keepOnly(new Set(graph.vertices.filter((vertex) => vertex.labeled).map((vertex) => vertex.vertex)));
    table.show(graph);
    applyColors();
    view.measure({ jump: first });
  }

  function choose(at, { speak = false } = {}) {
    if (at === active) return;
    active = at;
    tip.hidden = at === null;
    if (at !== null) {
      const vertex = graph.vertices[at];
      const words = S.map.vertex(vertex.name, vertex.labeled, vertex.examples);
      tip.replaceChildren(vertex.picture ? face(pictureOf.vertex(vertex.vertex), "", { loading: "eager" }) : h("span", { class: "no-face" }), h("strong", {}, vertex.name ?? S.nobody), h("span", { class: "small" }, words.slice(words.indexOf(",") + 2)));
      canvas.dataset.active = vertex.vertex;
      if (speak) setText(announcement, words);
    } else delete canvas.dataset.active;
    requestPaint();
  }
  function placeTip() {
    if (active === null || active >= layout.count) return;
    const [x, y] = view.toScreen(layout.x[active], layout.y[active]);
    const right = x > canvas.clientWidth - 190;
    tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(Math.min(Math.max(y, 60), canvas.clientHeight - 60))}px) translate(${right ? "calc(-100% - 24px)" : "24px"}, -50%)`;
  }
  const ask = () => active !== null && openVertex(graph.vertices[active].vertex);

  canvas.addEventListener("pointermove", (event) => {
    if (!view.dragging) choose(view.nearest(event.offsetX, event.offsetY));
    canvas.classList.toggle("pointing", active !== null);
  });
  canvas.addEventListener("pointerleave", () => document.activeElement === canvas || choose(null));
  canvas.addEventListener("click", (event) => {
    if (view.wasDragged) return;
    choose(view.nearest(event.offsetX, event.offsetY));
    ask();
  });
  canvas.addEventListener("keydown", (event) => {
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (directions[event.key]) choose(active === null ? view.middle() : view.towards(active, directions[event.key]), { speak: true });
    else if (event.key === "Enter" || event.key === " ") ask();
    else if (event.key === "+" || event.key === "=") view.zoomBy(1.3);
    else if (event.key === "-") view.zoomBy(1 / 1.3);
    else if (event.key === "0") view.zoomBy(0);
    else if (event.key === "Escape" && active !== null) choose(null);
    else return;
    event.preventDefault();
  });

  const again = every(5000, async () => {
    const found = await get("/map", { signal, headers: tag !== null && canvas.dataset.vertices ? { "if-none-match": `"${tag}"` } : {} });
    if (found === undefined || (found.sequence === tag && canvas.dataset.vertices)) return;
    tag = found.sequence;
    update(found);
  }, signal);
  on("changed", throttle(1200, again, signal), signal);
  on("theme", applyColors, signal);
  const tell = () => count.set(summary.learned);
  on("summary", tell, signal);
  tell();
  restorePlaces();
  if (graph.vertices.length) update(graph);
  signal.addEventListener("abort", savePlaces, { once: true });
  addEventListener("pagehide", savePlaces, { signal });
}

const isDark = (backgroundColor) => (backgroundColor.match(/\d+/g) ?? [255]).slice(0, 3).every((part) => Number(part) < 128);

/** Save the places for this tab, so that a reload shows the same picture. */
function savePlaces() {
  layout.savePlaces();
  if (!layout.places.size) return;
  const places = [...layout.places].map(([id, [x, y]]) => [id, Math.round(x), Math.round(y)]);
  try {
    sessionStorage.setItem("onlooker.map", JSON.stringify({ store: session.store, places }));
  } catch {
    // then the layout is computed again
  }
}

function restorePlaces() {
  if (layout.ids) return;
  try {
    const { store, places } = JSON.parse(sessionStorage.getItem("onlooker.map") ?? "{}");
    if (store && store === session.store) layout.places = new Map(places.map(([id, x, y]) => [id, [x, y]]));
  } catch {
    // what is stored there was not written by this page
  }
}
