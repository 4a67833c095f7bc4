// Who was where: one sighting with its face, and "was this face here before?" from a photo.

import { pictureOf, post, query } from "./api.js";
import { ago, moment } from "./clock.js";
import { openDialog } from "./dialog.js";
import { button, face, h, setText } from "./dom.js";
import { S } from "./strings.js";
import { openVertex } from "./why.js";

const CROP = 96;

/** Who a sighting shows: a name, the number of a stranger's card, or nobody known. */
export const whoWords = (one) => one.name ?? (one.card === null ? S.nobody : S.strangers.card(one.card));

/** When something was, for people and for programs. */
export const when = (time) => h("time", { datetime: new Date(1000 * time).toISOString(), title: ago(time) }, moment(time));

/** The face of a sighting as a button that opens it. */
export function faceOf(one, filter) {
  const words = S.seen.open(whoWords(one), moment(one.time), one.camera);
  const picture = one.picture ? face(pictureOf.sighting(one.number), "") : h("span", { class: "no-face" }, S.people.noPicture);
  return button(picture, () => openSighting(one, filter), { class: "face-button", "aria-label": words, data: { sighting: one.number } });
}

/** Open one sighting; filter(one), if given, lists all of the same person. */
function openSighting(one, filter) {
  const facts = [[S.events.who, h("strong", {}, whoWords(one))], [S.events.when, when(one.time)], [S.events.camera, one.camera]];
  const more = [];
  const leave = (act) => () => {
    dialog.close();
    act();
  };
  if (filter) more.push(button(one.name === null ? S.seen.allStrangers : S.seen.all(one.name), leave(() => filter(one)), { data: { all: "" } }));
  if (one.vertex !== null) more.push(button(S.seen.why, () => openVertex(one.vertex), { data: { why: "" } }));
  const dialog = openDialog({
    title: whoWords(one),
    view: "sighting",
    body: [
      h(
        "div",
        { class: "why-top" },
        one.picture ? face(pictureOf.sighting(one.number), S.seen.picture(whoWords(one)), { class: "why-face", loading: "eager" }) : null,
        h("dl", { class: "receipt sighting-facts" }, facts.map(([word, value]) => h("div", {}, h("dt", {}, word), h("dd", {}, value)))),
      ),
      h("div", { class: "actions" }, more),
    ],
  });
}

/** Ask with a photo; filter(one) lists the sightings of somebody that was found. */
export function openFind(filter) {
  const field = h("input", { id: "find-photo", type: "file", accept: "image/*" });
  const said = h("p", { class: "find-said", role: "status" });
  const errorText = h("p", { class: "error", role: "alert" });
  const place = h("div", { class: "find-answer" });
  const dialog = openDialog({
    title: S.seen.find,
    view: "find",
    wide: true,
    body: [h("p", { class: "quiet" }, S.seen.findWords), h("div", { class: "field" }, h("label", { for: field.id }, S.seen.photo), field), errorText, said, place],
  });
  field.focus();
  let newest = 0;
  async function ask(photo, which) {
    const mine = (newest += 1);
    setText(errorText, "");
    setText(said, S.seen.looking);
    place.replaceChildren();
    try {
      const found = await post(`/sightings/find${query({ face: which })}`, photo, { signal: dialog.signal });
      if (mine !== newest) return;
      if (found.face === null) await choose(photo, found.faces);
      else show(found.seen);
    } catch (error) {
      if (mine !== newest || error.name === "AbortError") return;
      setText(said, "");
      setText(errorText, error.message);
    }
  }
  async function choose(photo, faces) {
    setText(said, S.seen.which(faces.length));
    const pictures = await crops(photo, faces);
    const buttons = pictures.map((picture, at) => button(picture, () => ask(photo, at + 1), { class: "face-button", "aria-label": S.seen.face(at + 1), data: { face: at + 1 } }));
    place.replaceChildren(h("div", { class: "faces", role: "group", "aria-label": S.seen.which(faces.length) }, buttons));
    buttons[0].focus();
  }
  function show(seen) {
    setText(said, seen.length ? S.seen.yes(seen.length) : S.seen.never);
    place.replaceChildren(h("ol", { class: "find-list" }, seen.map((who, at) => h("li", { data: { who: who.name ?? who.card ?? "" } }, found(who, at === 0)))));
  }
  function found(who, first) {
    const all = button(S.seen.list, () => {
      dialog.close();
      filter(who.last);
    }, { class: "small", "aria-label": S.seen.all(whoWords(who)) });
    const cameras = Object.entries(who.cameras).map(([camera, count]) => S.seen.at(camera, count)).join(S.face.and);
    return [
      faceOf(who.best, null),
      h(
        "div",
        {},
        h("p", {}, h("strong", {}, whoWords(who)), first ? h("span", { class: "quiet small" }, ` · ${S.seen.best}`) : null),
        h("p", { class: "small" }, S.seen.count(who.count), " · ", cameras),
        h("p", { class: "quiet small" }, S.seen.first, " ", when(who.first.time), " · ", S.seen.last, " ", when(who.last.time)),
      ),
      filter ? all : null,
    ];
  }
  field.addEventListener("change", () => field.files[0] && ask(field.files[0]));
}

/** Small pictures of the faces in a photo, made by the browser. */
async function crops(photo, faces) {
  const image = await createImageBitmap(photo).catch(() => null); // a format that only the service reads
  return faces.map((box, at) => {
    if (!image) return h("span", { class: "no-face" }, S.seen.face(at + 1));
    const canvas = h("canvas", { width: CROP, height: CROP, "aria-hidden": "true" });
    const side = Math.max(box.width, box.height);
    const left = box.left + box.width / 2 - side / 2;
    const top = box.top + box.height / 2 - side / 2;
    canvas.getContext("2d").drawImage(image, left, top, side, side, 0, 0, CROP, CROP);
    return canvas;
  });
}
