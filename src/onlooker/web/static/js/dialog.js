// Dialogs: the browser's own element, which traps the focus and closes on Escape.

import { button, h } from "./dom.js";
import { icon } from "./icons.js";
import { S } from "./strings.js";

let count = 0;

/** Open a dialog; `closed` resolves to the argument of close. If the element that opened it no
 * longer exists (a box whose face has left), the main content gets the focus afterwards. */
export function openDialog({ title, body, view, wide = false }) {
  count += 1;
  const heading = h("h2", { id: `dialog-${count}`, tabindex: "-1" }, title);
  const shut = button(icon("close"), () => close(), { class: "plain round", "aria-label": S.close });
  const content = h("div", { class: "dialog-body" }, body);
  const element = h(
    "dialog",
    { class: wide ? "wide" : "", "aria-labelledby": heading.id, data: view ? { view } : {} },
    h("header", {}, heading, shut),
    content,
  );
  const opener = document.activeElement;
  const abort = new AbortController();
  let settle;
  const closed = new Promise((resolve) => {
    settle = resolve;
  });
  let answer = null;
  function close(given = null) {
    answer = given;
    element.close();
  }
  element.addEventListener("close", () => {
    abort.abort();
    element.remove();
    if (opener?.isConnected) opener.focus();
    if (document.activeElement === document.body) document.getElementById("main").focus();
    settle(answer);
  });
  element.addEventListener("click", (event) => {
    if (event.target === element && outside(element, event)) close();
  });
  document.body.append(element);
  element.showModal();
  heading.focus();
  return { element, heading, content, close, closed, signal: abort.signal };
}

function outside(element, { clientX, clientY }) {
  const box = element.getBoundingClientRect();
  return clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom;
}

/** Ask yes or no. */
export async function confirmed({ title, words, yes, danger = false }) {
  const agree = button(yes, () => dialog.close(true), { class: danger ? "danger" : "primary" });
  const actions = h("div", { class: "actions" }, agree, button(S.cancel, () => dialog.close()));
  const dialog = openDialog({ title, body: [typeof words === "string" ? h("p", {}, words) : words, actions].flat() });
  return (await dialog.closed) === true;
}

/** A form in a dialog. If send throws, its message is shown and the form stays open. */
export async function askForm({ title, intro, fields, yes, send }) {
  const errorText = h("p", { class: "error", role: "alert" });
  const agree = h("button", { class: "primary" }, yes);
  const actions = h("div", { class: "actions" }, agree, button(S.cancel, () => dialog.close()));
  const form = h("form", { class: "stack", novalidate: true }, intro, fields, errorText, actions);
  const dialog = openDialog({ title, body: form });
  form.querySelector("input, select")?.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    agree.disabled = true;
    try {
      dialog.close(await send(dialog));
    } catch (error) {
      errorText.textContent = error.message;
      form.querySelector("input, select")?.focus();
    } finally {
      agree.disabled = false;
    }
  });
  return dialog.closed;
}
