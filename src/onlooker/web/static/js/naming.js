// The field that asks who it is: completion of known names, and a word about consent.

import { h } from "./dom.js";
import { S } from "./strings.js";

let count = 0;

/** A form; send(name) may throw, and its sentence is shown beside the field. */
export function nameForm({ send, label = S.naming.label, yes = S.naming.send, hideLabel = true }) {
  count += 1;
  const id = `name-${count}`;
  const field = h("input", {
    id, name: "name", type: "text", list: "known-names", maxlength: 200, autocomplete: "off",
    placeholder: S.naming.placeholder, "aria-describedby": `${id}-consent ${id}-trouble`, spellcheck: "false",
  });
  const agree = h("button", { class: "primary" }, yes);
  const trouble = h("p", { class: "trouble", id: `${id}-trouble`, role: "alert" });
  const form = h(
    "form",
    { class: "naming", novalidate: true },
    h("label", { for: id, class: hideLabel ? "hidden" : "" }, label),
    h("div", { class: "naming-row" }, field, agree),
    h("p", { class: "quiet small", id: `${id}-consent` }, S.naming.consent),
    trouble,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = field.value.trim();
    trouble.textContent = name ? "" : S.naming.empty;
    if (!name) {
      field.focus();
      return;
    }
    agree.disabled = true;
    try {
      await send(name);
    } catch (error) {
      trouble.textContent = error.message;
      field.focus();
    } finally {
      agree.disabled = false;
    }
  });
  return { form, field, trouble };
}
