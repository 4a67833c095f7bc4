// Small round pictures of the labeled vertices; their number is bounded.

import { pictureOf } from "./api.js";
import { on } from "./bus.js";

const FACE = 72;
const LIMIT = 96;

/** ready() is called whenever another picture can be drawn. */
export class Portraits {
  constructor(ready, signal) {
    this.ready = ready;
    this.known = new Map();
    this.failed = new Set();
    on("back", () => this.retry(), signal);
  }

  of(vertex) {
    if (this.known.has(vertex)) return this.known.get(vertex);
    if (this.known.size >= LIMIT) return null;
    this.known.set(vertex, null);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = FACE;
      const context = canvas.getContext("2d");
      context.beginPath();
      context.arc(FACE / 2, FACE / 2, FACE / 2, 0, 2 * Math.PI);
      context.clip();
      context.drawImage(image, 0, 0, FACE, FACE);
      if (this.known.has(vertex)) this.known.set(vertex, canvas);
      this.ready();
    };
    image.onerror = () => this.failed.add(vertex);
    image.src = pictureOf.vertex(vertex);
    return null;
  }

  retry() {
    for (const vertex of this.failed) this.known.delete(vertex);
    this.failed.clear();
    this.ready();
  }

  keepOnly(vertices) {
    for (const vertex of [...this.known.keys()]) if (!vertices.has(vertex)) this.known.delete(vertex);
  }
}
