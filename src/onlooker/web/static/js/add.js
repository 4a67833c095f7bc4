// Add: four kinds of source to choose from, each with its own error message.

import { get, post } from "./api.js";
import { useCamera, useFile } from "./browser_camera.js";
import { untilDone } from "./bus.js";
import { button, h, setText } from "./dom.js";
import { icon } from "./icons.js";
import { go, heading } from "./router.js";
import { S } from "./strings.js";
import { showError, toast } from "./undo.js";

const SHOW = "simulated:V1";
const PATIENCE = 5000;

/** Fill the page. */
export function addView(page, { signal }) {
  const choices = h("div", { class: "choices" }, camera(), file(), show(), address());
  page.append(heading(S.first.title, S.first.welcome), choices, h("p", { class: "next" }, S.first.next), h("p", {}, h("a", { href: "#/photos" }, S.photos.link)));
  untilDone(async () => {
    const there = await get("/cameras", { signal });
    if (there.length) setText(page.querySelector("h1"), S.views.add);
  }, signal);
}

/** A kind of source: title, explanation, controls, and the error of the last attempt. */
function choice(key, picture, title, words, ...controls) {
  const errorText = h("p", { class: "error", role: "alert" });
  const progress = h("p", { class: "quiet small", role: "status" });
  const element = h("section", { class: "choice", data: { choice: key }, "aria-labelledby": `choice-${key}` }, h("span", { class: "choice-icon" }, icon(picture)), h("h2", { id: `choice-${key}` }, title), h("p", { class: "quiet" }, words), h("div", { class: "choice-act" }, controls), progress, errorText);
  async function attempt(act, waiting = S.loading) {
    errorText.textContent = "";
    progress.textContent = waiting;
    element.setAttribute("aria-busy", "true");
    try {
      const name = await act();
      go("live");
      if (name) announce(name).catch(showError);
    } catch (error) {
      errorText.textContent = error.message;
    } finally {
      progress.textContent = "";
      element.removeAttribute("aria-busy");
    }
  }
  return { element, attempt };
}

/** Say that a camera was added, and whether it is live: it may be failing, or take a while. */
async function announce(name) {
  const patience = performance.now() + PATIENCE;
  let added;
  do {
    added = (await get("/cameras", { quiet: true })).find((one) => one.name === name);
    if (added && added.state !== "connecting") break; // a browser's is there with its first picture
    await new Promise((resolve) => setTimeout(resolve, 250));
  } while (performance.now() < patience);
  if (added?.state === "failing") toast(S.first.failing(name, S.fromService(added.problem)), { error: true });
  else toast((S.first[added?.state] ?? S.first.connecting)(name));
}

function camera() {
  const start = button(S.first.cameraButton, () => one.attempt(async () => (await useCamera()).name, S.own.permission), { class: "primary" });
  const one = choice("camera", "laptop", S.first.camera, S.first.cameraWords, start);
  return one.element;
}

function address() {
  const source = h("input", { id: "source", type: "text", inputmode: "url", maxlength: 1000, autocomplete: "off", spellcheck: "false", placeholder: "rtsp://192.168.1.20/stream", "aria-describedby": "source-hint", required: true });
  const name = h("input", { id: "camera-name", type: "text", maxlength: 64, autocomplete: "off", placeholder: S.first.nameHint });
  const row = h("div", { class: "address-row" }, h("div", {}, h("label", { for: "source" }, S.first.addressLabel), source), h("div", {}, h("label", { for: "camera-name" }, S.first.nameLabel), name), h("button", {}, S.first.addressButton));
  const form = h("form", { class: "stack", novalidate: true }, row, h("p", { class: "quiet small", id: "source-hint" }, S.first.addressHint));
  const one = choice("address", "cable", S.first.address, S.first.addressWords, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    one.attempt(async () => {
      if (!source.value.trim()) {
        source.focus();
        throw new Error(S.first.addressEmpty);
      }
      const request = { source: source.value.trim() };
      if (name.value.trim()) request.name = name.value.trim();
      return (await post("/cameras", request)).name;
    });
  });
  return one.element;
}

function file() {
  const field = h("input", { id: "file", type: "file", accept: "video/*", class: "hidden", tabindex: "-1", "aria-label": S.first.fileLabel });
  const choose = button(S.first.fileButton, () => field.click());
  const one = choice("file", "film", S.first.file, S.first.fileWords, choose, field);
  field.addEventListener("change", () => {
    const [chosen] = field.files;
    if (chosen) one.attempt(async () => (await useFile(chosen)).name);
    field.value = "";
  });
  return one.element;
}

function show() {
  const start = button(S.first.showButton, () => one.attempt(async () => {
    const running = (await get("/cameras")).find((camera) => camera.name === S.first.simulated);
    return (running ?? (await post("/cameras", { source: SHOW, name: S.first.simulated }))).name;
  }));
  const one = choice("show", "play", S.first.show, S.first.showWords, start);
  return one.element;
}
