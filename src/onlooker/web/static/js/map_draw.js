// The map on a canvas: background, connections, dots, pictures of the labeled faces, names.

import { Background, writeNames } from "./map_background.js";

const LEVELS = 4;
const MANY = 600;
const READABLE = 8.5;

export class Painter {
  constructor(canvas, portraits) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.portraits = portraits;
    this.background = new Background();
  }

  /** Draw one frame. scene: {graph, layout, styles, view, active, pulses, backgroundColor, textColor, now} */
  draw(scene) {
    const { canvas, context } = this;
    const scale = canvas.width / canvas.clientWidth || 1;
    const { zoom, x, y } = scene.view;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    this.near = scene.active === null ? null : neighbours(scene);
    this.background.draw(scene, canvas, context);
    context.setTransform(scale * zoom, 0, 0, scale * zoom, canvas.width / 2 - scale * zoom * x, canvas.height / 2 - scale * zoom * y);
    this.hair = 1 / (scale * zoom);
    this.lines(scene);
    this.dots(scene);
    writeNames(context, scene);
  }

  /** Precompute what does not change between frames: connections of one color and about one
   * strength are drawn as one stroke. */
  prepare(graph, styles) {
    const strokes = new Map();
    for (const [i, j, w] of graph.links) {
      const one = styles.get(graph.vertices[i].name).color;
      const color = one === styles.get(graph.vertices[j].name).color ? one : styles.get(null).color;
      const level = Math.min(LEVELS - 1, Math.floor(w * LEVELS));
      const key = `${color} ${level}`;
      if (!strokes.has(key)) strokes.set(key, { color, strength: (level + 1) / LEVELS, ends: [] });
      strokes.get(key).ends.push([i, j]);
    }
    this.strokes = [...strokes.values()];
    this.background.prepare(graph);
  }

  lines({ graph, layout, view, active }) {
    for (const { color, strength, ends } of this.strokes) {
      // Strokes of one screen pixel are drawn many times faster than wider ones.
      const width = graph.links.length > MANY ? this.hair : (0.6 + 1.2 * strength) / Math.sqrt(view.zoom);
      const alpha = 0.14 + 0.5 * strength ** 1.5;
      this.stroke(layout, ends, color, active === null ? alpha : 0.05, width);
      if (active === null) continue;
      const lit = ends.filter(([i, j]) => i === active || j === active);
      if (lit.length) this.stroke(layout, lit, color, 0.85, 2 * this.hair);
    }
    this.context.globalAlpha = 1;
  }

  stroke(layout, ends, color, alpha, width) {
    const { context } = this;
    context.beginPath();
    for (const [i, j] of ends) {
      context.moveTo(layout.x[i], layout.y[i]);
      context.lineTo(layout.x[j], layout.y[j]);
    }
    context.strokeStyle = color;
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.stroke();
  }

  /** Draw plain dots of one color together, then labeled, active and lettered ones above them. */
  dots(scene) {
    const { graph, layout, styles, view, active, pulses, backgroundColor, now } = scene;
    const plain = new Map();
    const special = [];
    graph.vertices.forEach((vertex, at) => {
      const { color, fill, initial } = styles.get(vertex.name);
      const lettered = initial && layout.size[at] * view.zoom > READABLE;
      if (vertex.labeled || at === active || fill !== "solid" || lettered) special.push(at);
      else {
        const faded = this.near && !this.near.has(at);
        const key = faded ? `${color}!` : color;
        if (!plain.has(key)) plain.set(key, { color, faded, places: [] });
        plain.get(key).places.push(at);
        this.pulse(pulses.get(vertex.vertex), now, layout.x[at], layout.y[at], layout.size[at], color);
      }
    });
    for (const { color, faded, places } of plain.values()) {
      this.context.globalAlpha = faded ? 0.22 : 1;
      this.discs(layout, places, 1.5, backgroundColor);
      this.discs(layout, places, 0, color);
    }
    this.context.globalAlpha = 1;
    const rank = (at) => (at === active ? 2 : Number(graph.vertices[at].labeled));
    for (const at of special.sort((one, other) => rank(one) - rank(other))) this.dot(scene, at);
  }

  discs(layout, places, more, style) {
    const { context } = this;
    context.beginPath();
    for (const at of places) {
      const radius = layout.size[at] + more;
      context.moveTo(layout.x[at] + radius, layout.y[at]);
      context.arc(layout.x[at], layout.y[at], radius, 0, 2 * Math.PI);
    }
    context.fillStyle = style;
    context.fill();
  }

  dot({ graph, layout, styles, view, active, pulses, backgroundColor, textColor, now }, at) {
    const { context } = this;
    const vertex = graph.vertices[at];
    const { color, fill, initial } = styles.get(vertex.name);
    const x = layout.x[at];
    const y = layout.y[at];
    const size = vertex.labeled ? Math.max(15, layout.size[at]) : layout.size[at];
    const full = 2 * Math.PI;
    context.globalAlpha = this.near && !this.near.has(at) ? 0.22 : 1;
    this.pulse(pulses.get(vertex.vertex), now, x, y, size, color);
    const disc = (radius, style) => {
      context.beginPath();
      context.arc(x, y, radius, 0, full);
      context.fillStyle = style;
      context.fill();
    };
    disc(size + 1.5, backgroundColor);
    disc(size, color);
    if (fill === "hollow") disc(size * 0.62, backgroundColor);
    if (fill === "half") {
      context.beginPath();
      context.arc(x, y, size * 0.78, 0, Math.PI);
      context.fillStyle = backgroundColor;
      context.fill();
    }
    const portrait = vertex.labeled && vertex.picture ? this.portraits.of(vertex.vertex) : null;
    if (portrait) context.drawImage(portrait, x - size + 1, y - size + 1, 2 * size - 2, 2 * size - 2);
    else if (initial && size * view.zoom > READABLE) this.letter(initial, x, y, size, fill === "solid" ? backgroundColor : textColor);
    if (vertex.labeled) this.ring(x, y, size + 3.2, color, 2.2);
    if (at === active) this.ring(x, y, size + (vertex.labeled ? 7 : 4), textColor, 1.8 / view.zoom + 0.6);
    context.globalAlpha = 1;
  }

  letter(initial, x, y, size, style) {
    const { context } = this;
    context.font = `600 ${size * 1.05}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = style;
    context.fillText(initial, x, y + size * 0.06);
  }

  ring(x, y, radius, style, width) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
  }

  /** A widening ring where something was just learned. */
  pulse(since, now, x, y, size, color) {
    if (since === undefined) return;
    const age = (now - since) / 1200;
    if (age > 1) return;
    this.context.globalAlpha *= 1 - age;
    this.ring(x, y, size + 3 + 16 * age, color, 2);
    this.context.globalAlpha = this.near ? this.context.globalAlpha : 1;
  }
}

function neighbours({ graph, active }) {
  const near = new Set([active]);
  for (const [i, j] of graph.links) {
    if (i === active) near.add(j);
    if (j === active) near.add(i);
  }
  return near;
}
