// Boxes over a picture: real buttons, so that keys and screen readers reach every face.

import { button, setAttribute, setText } from "./dom.js";
import { S } from "./strings.js";
import { longWords, nameOf, shortWords, stateOf } from "./words.js";

const QUIET = 1000;

/** An overlay; choose(track) is called for a click. */
export function overlay(layer, choose) {
  const boxes = new Map();

  function made(track) {
    const label = document.createElement("span");
    label.className = "box-label";
    const box = button(label, () => choose(track), { class: "box", data: { track } });
    box.told = { at: 0, key: "" };
    layer.append(box);
    return box;
  }

  function place(box, { left, top, width, height }, frame) {
    const { style } = box;
    style.left = `${(100 * left) / frame.width}%`;
    style.top = `${(100 * top) / frame.height}%`;
    style.width = `${(100 * width) / frame.width}%`;
    style.height = `${(100 * height) / frame.height}%`;
    box.classList.toggle("under", top < 0.1 * frame.height);
    box.classList.toggle("leftwards", left + width / 2 > 0.66 * frame.width);
  }

  function tell(box, face) {
    const state = stateOf(face);
    if (box.dataset.state !== state) box.dataset.state = state;
    const name = nameOf(face);
    if (name !== null && box.dataset.name !== name) box.dataset.name = name;
    if (name === null) delete box.dataset.name;
    const key = `${state} ${name}`;
    const now = performance.now();
    // Shares change with every frame; a reader that is told each time never stops talking.
    if (key === box.told.key && now - box.told.at < QUIET) return;
    box.told = { at: now, key };
    setText(box.firstChild, shortWords(face));
    setAttribute(box, "aria-label", S.face.why(longWords(face)));
  }

  function remove(track, box) {
    const focused = document.activeElement === box;
    boxes.delete(track);
    box.remove();
    if (focused) (boxes.values().next().value ?? layer).focus();
  }

  return {
    /** The faces of the frame that is shown now. */
    show(faces, frame) {
      const here = new Set(faces.map((face) => face.track));
      for (const face of faces) {
        if (!boxes.has(face.track)) boxes.set(face.track, made(face.track));
        const box = boxes.get(face.track);
        place(box, face.answer.box, frame);
        tell(box, face);
      }
      for (const [track, box] of [...boxes]) if (!here.has(track)) remove(track, box);
    },
    clear() {
      for (const [track, box] of [...boxes]) remove(track, box);
    },
  };
}
