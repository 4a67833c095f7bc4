// Boxes over a picture. They are buttons, so that keyboard and screen reader reach every face.

import { button, setAttribute, setText } from "./dom.js";
import { S } from "./strings.js";
import { longWords, nameOf, shortWords, stateOf } from "./words.js";

const MIN_PAUSE = 1000;

/** An overlay; choose(track) is called for a click. */
export function overlay(layer, choose) {
  const boxes = new Map();

  function made(track) {
    const label = document.createElement("span");
    label.className = "box-label";
    const box = button(label, () => choose(track), { class: "box", data: { track } });
    box.described = { at: 0, key: "" };
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

  function describe(box, face) {
    const state = stateOf(face);
    if (box.dataset.state !== state) box.dataset.state = state;
    const name = nameOf(face);
    if (name !== null && box.dataset.name !== name) box.dataset.name = name;
    if (name === null) delete box.dataset.name;
    const key = `${state} ${name} ${face.answer.candidate}`;
    const now = performance.now();
    // Shares change with every frame; a screen reader would read each change aloud.
    if (key === box.described.key && now - box.described.at < MIN_PAUSE) return;
    box.described = { at: now, key };
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
    /** Show the faces of the current frame. */
    show(faces, frame) {
      const here = new Set(faces.map((face) => face.track));
      for (const face of faces) {
        if (!boxes.has(face.track)) boxes.set(face.track, made(face.track));
        const box = boxes.get(face.track);
        place(box, face.answer.box, frame);
        describe(box, face);
      }
      for (const [track, box] of [...boxes]) if (!here.has(track)) remove(track, box);
    },
    clear() {
      for (const [track, box] of [...boxes]) remove(track, box);
    },
  };
}
