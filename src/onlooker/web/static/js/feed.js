// Pictures and results of a camera of the service, received in pairs; reconnects by itself.

import { closeSocket, part, socketAddress } from "./api.js";
import { on } from "./bus.js";

const NOT_FOUND = 4404;
const MAX_PAUSE = 8000;

/** Calls show(result, bitmap) for the newest pair, and onState("lost" | "gone" | "open"). */
export function watch(camera, { show, onState, signal }) {
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
      next = null; // pairs that arrive while one is decoded replace each other
      try {
        const bitmap = await createImageBitmap(jpeg);
        if (!signal.aborted) show(what, bitmap);
        bitmap.close();
      } catch {
        // a picture that cannot be decoded is skipped
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
    socket.onopen = () => onState("open");
    socket.onclose = ({ code }) => {
      if (signal.aborted || document.hidden) return;
      onState(code === NOT_FOUND ? "gone" : "lost");
      failures += 1;
      timer = setTimeout(open, Math.min(MAX_PAUSE, 300 * 2 ** failures));
    };
  }

  function close() {
    clearTimeout(timer);
    if (socket) socket.onclose = socket.onmessage = null;
    closeSocket(socket);
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
