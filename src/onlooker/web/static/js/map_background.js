// Behind and above the graph: a blurred background in each name's color, and the names.

const GLOW = 64;
const COARSE = 6;

function glowOf(color) {
  const canvas = document.createElement("canvas");
  const middle = 16;
  canvas.width = canvas.height = 2 * middle;
  const context = canvas.getContext("2d");
  const soft = context.createRadialGradient(middle, middle, 0, middle, middle, middle);
  soft.addColorStop(0, `${color}1a`);
  soft.addColorStop(0.5, `${color}0b`);
  soft.addColorStop(1, `${color}00`);
  context.fillStyle = soft;
  context.fillRect(0, 0, 2 * middle, 2 * middle);
  return canvas;
}

export class Background {
  constructor() {
    this.glows = new Map();
    this.many = new Map();
    this.soft = document.createElement("canvas");
  }

  /** Count the faces of each name: where many overlap, each adds less color. */
  prepare(graph) {
    this.many.clear();
    for (const { name } of graph.vertices) this.many.set(name, (this.many.get(name) ?? 0) + 1);
    this.glows.clear();
  }

  /** Draw the background at low resolution and enlarge it: blurred shapes need few pixels. */
  draw({ graph, layout, styles, view }, canvas, onto) {
    const { soft } = this;
    const context = soft.getContext("2d");
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.ceil(side / COARSE)));
    if (soft.width !== width || soft.height !== height) Object.assign(soft, { width, height });
    const zoom = view.zoom / COARSE;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(zoom, 0, 0, zoom, width / 2 - zoom * view.x, height / 2 - zoom * view.y);
    graph.vertices.forEach((vertex, at) => {
      const { color } = styles.get(vertex.name);
      if (!this.glows.has(color)) this.glows.set(color, glowOf(color));
      context.globalAlpha = Math.min(1, 2.4 / Math.sqrt(Math.min(60, this.many.get(vertex.name)))); // overlapping faces add up
      context.drawImage(this.glows.get(color), layout.x[at] - GLOW, layout.y[at] - GLOW, 2 * GLOW, 2 * GLOW);
    });
    onto.setTransform(1, 0, 0, 1, 0, 0);
    onto.drawImage(soft, 0, 0, canvas.width, canvas.height);
  }
}

/** Write each name above its topmost face. */
export function writeNames(context, { graph, layout, view, backgroundColor, textColor }) {
  const heads = new Map();
  graph.vertices.forEach((vertex, at) => {
    if (vertex.name === null) return;
    const one = heads.get(vertex.name) ?? { x: 0, count: 0, top: Infinity };
    one.x += layout.x[at];
    one.count += 1;
    one.top = Math.min(one.top, layout.y[at] - layout.size[at]);
    heads.set(vertex.name, one);
  });
  const size = Math.min(26, 14 / view.zoom);
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.lineJoin = "round";
  const taken = [];
  for (const [name, one] of [...heads].sort((a, b) => b[1].count - a[1].count)) {
    const text = name.length > 24 ? `${name.slice(0, 23)}…` : name;
    if (!free(taken, one.x / one.count, one.top - 10, context.measureText(text).width, size)) continue;
    context.lineWidth = size / 3.5;
    context.strokeStyle = backgroundColor;
    context.strokeText(text, one.x / one.count, one.top - 10);
    context.fillStyle = textColor;
    context.fillText(text, one.x / one.count, one.top - 10);
  }
}

/** Whether a name overlaps none of those written so far; names of many faces are written first. */
function free(taken, x, y, width, height) {
  const here = { left: x - width / 2, right: x + width / 2, top: y - height, bottom: y };
  const meets = (one) => one.left < here.right && here.left < one.right && one.top < here.bottom && here.top < one.bottom;
  if (taken.some(meets)) return false;
  taken.push(here);
  return true;
}
