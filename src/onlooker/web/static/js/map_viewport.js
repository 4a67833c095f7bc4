// The visible part of the map: all of it until the user zooms or drags.

import { mayMove } from "./theme.js";

const EDGE = 46;
const HEADER = 34; // pixels of the text above the map
const CLOSEST = 4;

/** {at, follow, measure, zoomBy, nearest, towards, middle, toScreen} over a canvas. */
export function viewport(canvas, layout, requestPaint, signal) {
  const at = { zoom: 1, x: 0, y: 0 };
  let aim = { ...at };
  let free = false;
  let drag = null;
  const pointers = new Map();

  function size() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (width && height && (canvas.width !== width || canvas.height !== height)) Object.assign(canvas, { width, height });
    requestPaint();
  }
  const watcher = new ResizeObserver(size);
  watcher.observe(canvas);
  signal.addEventListener("abort", () => watcher.disconnect(), { once: true });

  function fit() {
    let left = Infinity;
    let right = -Infinity;
    let top = Infinity;
    let bottom = -Infinity;
    for (let one = 0; one < layout.count; one += 1) {
      left = Math.min(left, layout.x[one] - layout.size[one]);
      right = Math.max(right, layout.x[one] + layout.size[one]);
      top = Math.min(top, layout.y[one] - layout.size[one] - 18);
      bottom = Math.max(bottom, layout.y[one] + layout.size[one]);
    }
    if (!Number.isFinite(left)) return aim;
    const wide = Math.max(40, canvas.clientWidth - 2 * EDGE) / Math.max(60, right - left);
    const high = Math.max(40, canvas.clientHeight - 2 * EDGE - HEADER) / Math.max(60, bottom - top);
    const zoom = Math.min(1.8, wide, high);
    return { zoom, x: (left + right) / 2, y: (top + bottom - HEADER / zoom) / 2 };
  }

  const toMap = (x, y) => [(x - canvas.clientWidth / 2) / at.zoom + at.x, (y - canvas.clientHeight / 2) / at.zoom + at.y];

  function zoomAt(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const [mapX, mapY] = toMap(x, y);
    const zoom = Math.min(CLOSEST, Math.max(0.1, aim.zoom * by));
    aim = { zoom, x: mapX - (x - canvas.clientWidth / 2) / zoom, y: mapY - (y - canvas.clientHeight / 2) / zoom };
    free = true;
    requestPaint();
  }

  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    drag = { x: event.clientX, y: event.clientY, moved: false };
  });
  addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    if (pointers.size === 2) pinch(event);
    else pan(event);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  }, { signal });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, (event) => pointers.delete(event.pointerId), { signal });
  }

  function pan(event) {
    const [x, y] = pointers.get(event.pointerId);
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 5) drag.moved = true;
    if (!drag.moved) return;
    free = true;
    aim = { zoom: at.zoom, x: at.x - (event.clientX - x) / at.zoom, y: at.y - (event.clientY - y) / at.zoom };
    Object.assign(at, aim);
    requestPaint();
  }
  function pinch(event) {
    const [one, other] = [...pointers.keys()];
    const still = pointers.get(event.pointerId === one ? other : one);
    const [x, y] = pointers.get(event.pointerId);
    const before = Math.hypot(x - still[0], y - still[1]) || 1;
    const box = canvas.getBoundingClientRect();
    zoomAt(Math.hypot(event.clientX - still[0], event.clientY - still[1]) / before, still[0] - box.left, still[1] - box.top);
    Object.assign(at, aim);
    drag.moved = true;
  }

  return {
    at,
    get dragging() {
      return pointers.size > 0 && Boolean(drag?.moved);
    },
    get wasDragged() {
      return Boolean(drag?.moved);
    },
    /** Move a step towards the target; true if it is not reached yet. */
    follow() {
      if (!free) aim = fit();
      const share = mayMove() ? 0.14 : 1;
      for (const key of ["zoom", "x", "y"]) at[key] += share * (aim[key] - at[key]);
      return Math.abs(aim.zoom - at.zoom) * 300 + Math.hypot(aim.x - at.x, aim.y - at.y) * at.zoom > 0.5;
    },
    measure({ jump }) {
      size();
      if (jump) Object.assign(at, fit());
    },
    /** Zoom by a factor; 0 fits everything again. */
    zoomBy(by) {
      if (by) zoomAt(by);
      else free = false;
      requestPaint();
    },
    toScreen: (x, y) => [(x - at.x) * at.zoom + canvas.clientWidth / 2, (y - at.y) * at.zoom + canvas.clientHeight / 2],
    /** The vertex under the pointer, or null. */
    nearest(x, y) {
      const [mapX, mapY] = toMap(x, y);
      let best = null;
      let least = Infinity;
      for (let one = 0; one < layout.count; one += 1) {
        const gap = Math.hypot(layout.x[one] - mapX, layout.y[one] - mapY) - layout.size[one];
        if (gap < least) [best, least] = [one, gap];
      }
      return least * at.zoom < 8 ? best : null;
    },
    /** The vertex nearest to the middle of the view. */
    middle() {
      let best = null;
      let least = Infinity;
      for (let one = 0; one < layout.count; one += 1) {
        const gap = Math.hypot(layout.x[one] - at.x, layout.y[one] - at.y);
        if (gap < least) [best, least] = [one, gap];
      }
      return best;
    },
    /** The next vertex in a direction; the same one where there is none. */
    towards(from, [wayX, wayY]) {
      let best = from;
      let least = Infinity;
      for (let one = 0; one < layout.count; one += 1) {
        const gapX = layout.x[one] - layout.x[from];
        const gapY = layout.y[one] - layout.y[from];
        const along = gapX * wayX + gapY * wayY;
        const across = Math.abs(gapX * wayY) + Math.abs(gapY * wayX);
        if (one === from || along <= 0 || across > 1.2 * along) continue;
        if (along + 2 * across < least) [best, least] = [one, along + 2 * across];
      }
      return best;
    },
  };
}
