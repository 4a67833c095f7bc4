// Photos: choose or drop them, see the faces that were found, say who they are, teach them at once.

import { get, pictureOf, post } from "./api.js";
import { untilDone } from "./bus.js";
import { button, face, h, setText } from "./dom.js";
import { icon } from "./icons.js";
import { go, heading } from "./router.js";
import { S } from "./strings.js";
import { changed } from "./undo.js";
import { reasonWords } from "./words.js";

const AT_ONCE = 2;
const MOST_BYTES = 32 * 1024 * 1024;

/** Fill the page; the argument is the id of the person whose photos they are, if any. */
export function photosView(page, { signal, argument }) {
  const photos = []; // {name, faces: [{face, name, ...}], pick}
  const names = new Map(); // what was typed for a face, by its key
  const leftOut = new Set(); // keys of faces of somebody who was named, which are not wanted
  let groups = [];
  let waiting = 0;
  let done = 0;

  const one = h("input", { type: "radio", name: "whose", id: "whose-one", value: "one", checked: true });
  const several = h("input", { type: "radio", name: "whose", id: "whose-several", value: "several" });
  const who = h("input", { id: "photo-name", type: "text", list: "known-names", maxlength: 200, autocomplete: "off", spellcheck: "false", "aria-describedby": "photo-consent" });
  const whoRow = h("div", { class: "photo-who" }, h("label", { for: "photo-name" }, S.photos.name), who);
  const field = h("input", { id: "photo-files", type: "file", multiple: true, accept: "image/*,.heic,.heif", class: "hidden", tabindex: "-1", "aria-label": S.photos.files });
  const choose = button([icon("picture"), S.photos.choose], () => field.click(), { class: "primary" });
  const zone = h("div", { class: "drop-zone" }, choose, field, h("p", { class: "quiet" }, S.photos.drop));
  const status = h("p", { class: "quiet small", role: "status" });
  const problems = h("ul", { class: "photo-problems", "aria-label": S.photos.problems });
  const results = h("div", { class: "photo-results" });
  const errorText = h("p", { class: "error", role: "alert" });
  const summary = h("p", { class: "quiet small" });
  const teach = button(S.photos.teach, () => void send(), { class: "primary" });
  const foot = h("div", { class: "photo-foot", hidden: true }, summary, errorText, teach);
  page.append(
    heading(S.views.photos, S.photos.lead),
    h("fieldset", { class: "photo-whose" }, h("legend", {}, S.photos.whose), h("label", { class: "check", for: "whose-one" }, one, S.photos.one), h("label", { class: "check", for: "whose-several" }, several, S.photos.several), whoRow),
    h("p", { class: "quiet small", id: "photo-consent" }, S.naming.consent),
    zone, status, problems, results, foot,
  );
  if (argument) {
    untilDone(async () => {
      const person = (await get("/people", { signal })).find((each) => each.id === argument);
      if (person && !who.value) who.value = person.name;
      draw();
    }, signal);
  }

  // ---- finding

  async function add(files) {
    const fresh = [...files];
    waiting += fresh.length;
    setText(errorText, "");
    showStatus();
    const next = async () => {
      const file = fresh.shift();
      if (!file || signal.aborted) return;
      await look(file).catch((error) => showProblem(file.name, error.message));
      done += 1;
      showStatus();
      await next();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    if (signal.aborted || done < waiting) return;
    waiting = done = 0;
    await group().catch((error) => setText(errorText, error.message));
    draw();
    showStatus();
  }

  async function look(file) {
    if (file.size > MOST_BYTES) throw new Error(S.photos.tooLarge(file.size));
    const found = await post("/photos", file, { signal });
    const good = found.faces.filter((each) => !each.refusal);
    if (!good.length) throw new Error(S.photos.poor(reasonWords(found.faces[0].refusal)));
    photos.push({ name: file.name, faces: good, pick: good.length === 1 ? good[0].face : undefined });
  }

  async function group() {
    const keys = photos.flatMap((photo) => photo.faces.map((each) => each.face));
    groups = keys.length ? await post("/photos/groups", { faces: keys }, { signal }) : [];
    suggest();
  }

  /** Of several faces, the one that looks like the only faces of the other photos is proposed. */
  function suggest() {
    const alone = new Set(photos.filter((photo) => photo.faces.length === 1).map((photo) => photo.faces[0].face));
    const alike = new Set(groups.filter((keys) => keys.some((key) => alone.has(key))).flat());
    for (const photo of photos) {
      const likely = photo.faces.filter((each) => alike.has(each.face));
      if (photo.pick === undefined && likely.length === 1) photo.pick = likely[0].face;
    }
    const known = new Map(photos.flatMap((photo) => photo.faces.map((each) => [each.face, each.name])));
    for (const keys of groups) {
      const said = keys.map((key) => names.get(key)).find(Boolean);
      const name = said ?? keys.map((key) => known.get(key)).find(Boolean);
      if (name) for (const key of keys) names.set(key, name);
    }
  }

  function showProblem(name, words) {
    problems.append(h("li", {}, h("strong", {}, name), `: ${words}`));
  }

  function showStatus() {
    setText(status, waiting ? S.photos.looking(done, waiting) : photos.length ? S.photos.looked(photos.length) : "");
    zone.toggleAttribute("data-busy", waiting > 0);
  }

  // ---- showing

  const picture = (key, pressed, label, press) => button(face(pictureOf.photo(key), ""), press, { class: "face-toggle", "aria-pressed": String(pressed), "aria-label": label, data: { face: key } });

  function draw() {
    whoRow.hidden = several.checked;
    const focused = document.activeElement?.dataset?.face;
    results.replaceChildren(...(several.checked ? groups.map(personCard) : photos.map(photoCard)));
    if (focused) results.querySelector(`[data-face="${focused}"]`)?.focus();
    foot.hidden = !photos.length;
    showSummary();
  }

  /** One photo of one person: which of its faces is it? */
  function photoCard(photo) {
    const asks = photo.faces.length > 1;
    const words = asks ? S.photos.which(who.value.trim()) : photo.name;
    const faces = photo.faces.map((each, at) => picture(each.face, photo.pick === each.face, S.photos.face(at + 1, photo.name), () => {
      photo.pick = photo.pick === each.face ? null : each.face;
      draw();
    }));
    const head = asks ? [h("h2", {}, words), h("p", { class: "quiet small" }, photo.name)] : [h("h2", { class: "file-name" }, words)];
    return h("section", { class: "card", role: "group", "aria-label": asks ? `${words} ${photo.name}` : words, data: { photo: photo.name, asks: asks ? "yes" : "no" } }, head, h("div", { class: "card-faces" }, faces));
  }

  /** The faces of somebody in several photos: who is it? */
  function personCard(keys, at) {
    const id = `photo-person-${at}`;
    const input = h("input", { id, type: "text", list: "known-names", maxlength: 200, autocomplete: "off", spellcheck: "false", value: names.get(keys[0]) ?? "", data: { name: "" } });
    input.addEventListener("input", () => {
      for (const key of keys) names.set(key, input.value.trim());
      showSummary();
    });
    const faces = keys.map((key, number) => {
      const toggle = picture(key, !leftOut.has(key), S.strangers.face(number + 1), () => {
        if (!leftOut.delete(key)) leftOut.add(key);
        toggle.setAttribute("aria-pressed", String(!leftOut.has(key)));
        showSummary();
      });
      return toggle;
    });
    return h("section", { class: "card", role: "group", "aria-label": S.photos.person(at + 1), data: { person: at } }, h("h2", {}, h("label", { for: id }, S.ask.who)), h("div", { class: "card-faces" }, faces), input);
  }

  function chosen() {
    if (!several.checked) {
      const name = who.value.trim();
      return photos.filter((photo) => photo.pick).map((photo) => ({ face: photo.pick, name }));
    }
    return groups.flat().filter((key) => names.get(key) && !leftOut.has(key)).map((key) => ({ face: key, name: names.get(key) }));
  }

  function showSummary() {
    const taken = chosen();
    const people = new Set(taken.map((each) => each.name)).size;
    const open = several.checked ? groups.filter((keys) => !names.get(keys[0])).length : photos.filter((photo) => !photo.pick).length;
    setText(summary, [S.photos.chosen(taken.length, people), open ? (several.checked ? S.photos.nameless(open) : S.photos.unanswered(open)) : ""].join(" ").trim());
  }

  // ---- teaching

  async function send() {
    const faces = chosen();
    const nameless = !several.checked && !who.value.trim();
    setText(errorText, nameless ? S.naming.empty : faces.length ? "" : S.photos.nothing);
    if (errorText.textContent) {
      (nameless ? who : (results.querySelector("input, button") ?? choose)).focus();
      return;
    }
    teach.disabled = true;
    try {
      const { people, taught, undo } = await post("/photos/teach", { faces });
      changed(taught ? S.photos.taught(taught, people.map((each) => each.name).join(", ")) : S.photos.known, undo);
      go("people", people.length === 1 ? people[0].id : "");
    } catch (error) {
      setText(errorText, error.message);
    } finally {
      teach.disabled = false;
    }
  }

  field.addEventListener("change", () => {
    const files = [...field.files];
    field.value = "";
    void add(files);
  });
  for (const radio of [one, several]) radio.addEventListener("change", draw);
  who.addEventListener("input", draw);
  const over = (event) => {
    event.preventDefault();
    zone.toggleAttribute("data-over", event.type === "dragover");
  };
  for (const kind of ["dragover", "dragleave"]) document.addEventListener(kind, over, { signal });
  document.addEventListener("drop", (event) => {
    over(event);
    void add(event.dataTransfer.files);
  }, { signal });
}
