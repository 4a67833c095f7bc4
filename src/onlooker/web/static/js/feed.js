// Pictures and results of a camera of the service, pair by pair; reconnects by itself.

import { hangUp, part, socketAddress } from "./api.js";
import { on } from "./bus.js";

const GONE = 4404;
const LONGEST = 8000;

/** show(result, bitmap) for the newest pair; told("lost" | "gone" | "open") when that changes. */
export function watch(camera, { show, told, signal }) {
  let socket = null;
  let result = null;
  let next = null;
  let drawing = false;
  let failures = 0;
  let timer = 0;

  async function draw() {
    if (drawing) return;
    drawing = true;
    while (next && !signal.aborted) {
      const [what, jpeg] = next;
      next = null; // while one is decoded, only the newest of the others is kept
      try {
        const bitmap = await createImageBitmap(jpeg);
        if (!signal.aborted) show(what, bitmap);
        bitmap.close();
      } catch {
        // a picture that cannot be read is left out
      }
    }
    drawing = false;
  }

  function open() {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || (socket && socket.readyState < WebSocket.CLOSING)) return;
    socket = new WebSocket(socketAddress(`/live/${part(camera)}`));
    socket.binaryType = "blob";
    socket.onmessage = ({ data }) => {
      failures = 0;
      if (typeof data !== "string") {
        if (result) next = [result, data];
        result = null;
        draw();
        return;
      }
      const message = JSON.parse(data);
      result = message.faces ? message : null;
    };
    socket.onopen = () => told("open");
    socket.onclose = ({ code }) => {
      if (signal.aborted || document.hidden) return;
      told(code === GONE ? "gone" : "lost");
      failures += 1;
      timer = setTimeout(open, Math.min(LONGEST, 300 * 2 ** failures));
    };
  }

  function close() {
    clearTimeout(timer);
    if (socket) socket.onclose = socket.onmessage = null;
    hangUp(socket);
    socket = null;
  }

  on("back", () => {
    failures = 0;
    open();
  }, signal);
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()), { signal });
  signal.addEventListener("abort", close, { once: true });
  open();
}
