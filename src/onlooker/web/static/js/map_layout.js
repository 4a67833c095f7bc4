// A force-directed layout: similar vertices attract, all repel, and all are attracted to the
// middle. It is deterministic, and vertices that have a place start there when others are added.

const REACH = 150;
const PUSH = 800;
const STRANGE = 5;
const PULL = 0.2;
const MIDDLE = 0.008;
const COOLING = 0.98;
const COLD = 0.004;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** Radius of a vertex that represents so many examples; smaller if there are many vertices. */
const radiusOf = (examples, count) => Math.min(1, Math.max(0.55, Math.sqrt(110 / count))) * (4 + 2.1 * Math.log2(1 + examples));

export class Layout {
  constructor() {
    this.places = new Map();
    this.resize(0);
    this.heat = 0;
    this.aspect = 1.6; // a wide window gets a wide map
  }

  resize(count) {
    for (const name of ["x", "y", "dx", "dy", "size"]) this[name] = new Float64Array(count);
    this.name = new Int32Array(count);
    this.degree = new Float64Array(count);
    this.next = new Int32Array(count);
    this.count = count;
  }

  /** Set the graph; new vertices start beside their most similar neighbour that has a place. */
  update(vertices, links) {
    this.savePlaces();
    const old = this.places;
    this.resize(vertices.length);
    this.links = links;
    const names = new Map();
    const inName = new Map();
    let fresh = 0;
    vertices.forEach((vertex, at) => {
      if (!names.has(vertex.name)) names.set(vertex.name, names.size);
      this.name[at] = names.get(vertex.name);
      this.size[at] = radiusOf(vertex.examples, vertices.length);
    });
    const best = strongest(vertices.length, links, (at) => old.has(vertices[at].vertex));
    vertices.forEach((vertex, at) => {
      const place = old.get(vertex.vertex);
      const group = this.name[at];
      const turn = inName.get(group) ?? 0;
      inName.set(group, turn + 1);
      if (place) [this.x[at], this.y[at]] = place;
      else {
        fresh += 1;
        const near = best[at] < 0 ? null : old.get(vertices[best[at]].vertex);
        const angle = (near ? vertex.vertex : turn) * GOLDEN;
        const away = near ? 6 : 9 * Math.sqrt(turn + 0.5);
        const [x, y] = near ?? startOf(group);
        this.x[at] = x + away * Math.cos(angle);
        this.y[at] = y + away * Math.sin(angle);
      }
    });
    for (const [i, j, w] of links) {
      this.degree[i] += w;
      this.degree[j] += w;
    }
    this.ids = vertices.map((vertex) => vertex.vertex);
    const all = fresh === vertices.length;
    if (fresh || vertices.length !== old.size) this.heat = Math.max(this.heat, all ? 1 : 0.25);
    this.savePlaces();
  }

  /** Save the place of each vertex by its number. */
  savePlaces() {
    if (!this.ids) return;
    this.places = new Map(this.ids.map((id, at) => [id, [this.x[at], this.y[at]]]));
  }

  get moving() {
    return this.heat > COLD;
  }

  /** One step. Only near vertices repel each other, which is cheaper than all pairs. */
  tick() {
    const { x, y, dx, dy, count, heat, aspect } = this;
    dx.fill(0);
    dy.fill(0);
    this.push();
    this.pull();
    const limit = 2 + 22 * heat;
    for (let at = 0; at < count; at += 1) {
      const toX = dx[at] - (MIDDLE / aspect) * x[at];
      const toY = dy[at] - MIDDLE * Math.min(2, aspect) * y[at];
      const length = Math.hypot(toX, toY) || 1;
      const step = Math.min(limit, length * (0.15 + 0.85 * heat)) / length;
      x[at] += toX * step * Math.min(1, heat * 4);
      y[at] += toY * step * Math.min(1, heat * 4);
    }
    this.heat *= COOLING;
  }

  push() {
    const { x, y, dx, dy, size, name, next, count } = this;
    let left = Infinity;
    let top = Infinity;
    let right = -Infinity;
    let bottom = -Infinity;
    for (let at = 0; at < count; at += 1) {
      left = Math.min(left, x[at]);
      right = Math.max(right, x[at]);
      top = Math.min(top, y[at]);
      bottom = Math.max(bottom, y[at]);
    }
    const columns = Math.max(1, Math.floor((right - left) / REACH) + 1);
    const rows = Math.max(1, Math.floor((bottom - top) / REACH) + 1);
    const heads = new Int32Array(columns * rows).fill(-1);
    const cell = (value, from) => Math.floor((value - from) / REACH);
    for (let at = 0; at < count; at += 1) {
      const key = cell(x[at], left) + columns * cell(y[at], top);
      next[at] = heads[key];
      heads[key] = at;
    }
    for (let at = 0; at < count; at += 1) {
      const column = cell(x[at], left);
      const row = cell(y[at], top);
      for (let r = Math.max(0, row - 1); r <= Math.min(rows - 1, row + 1); r += 1) {
        for (let c = Math.max(0, column - 1); c <= Math.min(columns - 1, column + 1); c += 1) {
          for (let other = heads[c + columns * r]; other >= 0; other = next[other]) {
            if (other <= at) continue;
            const gapX = x[at] - x[other] || 0.01 * (at - other);
            const gapY = y[at] - y[other] || 0.01;
            const square = gapX * gapX + gapY * gapY;
            if (square > REACH * REACH) continue;
            const distance = Math.sqrt(square);
            const room = size[at] + size[other] + 3;
            let force = (PUSH / (square + 60)) * (1 - distance / REACH);
            if (name[at] !== name[other]) force *= STRANGE;
            if (distance < room) force += (room - distance) * 0.45;
            const along = force / distance;
            dx[at] += gapX * along;
            dy[at] += gapY * along;
            dx[other] -= gapX * along;
            dy[other] -= gapY * along;
          }
        }
      }
    }
  }

  pull() {
    const { x, y, dx, dy, size, degree, links } = this;
    for (const [i, j, w] of links) {
      const gapX = x[j] - x[i];
      const gapY = y[j] - y[i];
      const distance = Math.hypot(gapX, gapY) || 1;
      const rest = size[i] + size[j] + 8 + 40 * (1 - w);
      const force = (PULL * (0.3 + w) * (distance - rest)) / (distance * Math.sqrt(1 + Math.min(degree[i], degree[j])));
      dx[i] += gapX * force;
      dy[i] += gapY * force;
      dx[j] -= gapX * force;
      dy[j] -= gapY * force;
    }
  }
}

/** Where the vertices of a name start: names are placed on a spiral, apart from each other. */
function startOf(group) {
  const away = 120 * Math.sqrt(group + 0.3);
  return [away * Math.cos(group * GOLDEN), away * Math.sin(group * GOLDEN)];
}

function strongest(count, links, placed) {
  const best = new Int32Array(count).fill(-1);
  const most = new Float64Array(count);
  const offer = (at, other, w) => {
    if (w > most[at] && placed(other)) [best[at], most[at]] = [other, w];
  };
  for (const [i, j, w] of links) {
    offer(i, j, w);
    offer(j, i, w);
  }
  return best;
}
