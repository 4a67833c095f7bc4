// The form for a name: completion of known names, and a note about consent.

import { h } from "./dom.js";
import { S } from "./strings.js";

let count = 0;

/** If send(name) throws, its message is shown beside the field. */
export function nameForm({ send, label = S.naming.label, yes = S.naming.send, hideLabel = true }) {
  count += 1;
  const id = `name-${count}`;
  const field = h("input", {
    id, name: "name", type: "text", list: "known-names", maxlength: 200, autocomplete: "off",
    placeholder: S.naming.placeholder, "aria-describedby": `${id}-consent ${id}-error`, spellcheck: "false",
  });
  const submit = h("button", { class: "primary" }, yes);
  const errorText = h("p", { class: "error", id: `${id}-error`, role: "alert" });
  const form = h(
    "form",
    { class: "naming", novalidate: true },
    h("label", { for: id, class: hideLabel ? "hidden" : "" }, label),
    h("div", { class: "naming-row" }, field, submit),
    h("p", { class: "quiet small", id: `${id}-consent` }, S.naming.consent),
    errorText,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = field.value.trim();
    errorText.textContent = name ? "" : S.naming.empty;
    if (!name) {
      field.focus();
      return;
    }
    submit.disabled = true;
    try {
      await send(name);
    } catch (error) {
      errorText.textContent = error.message;
      field.focus();
    } finally {
      submit.disabled = false;
    }
  });
  return { form, field, errorText };
}
