// Shortcuts of one key: only where no text is typed, and only while they are wanted.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { keep, kept } from "./kept.js";
import { S } from "./strings.js";

const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/** Whether one-key shortcuts are wanted. */
export const wanted = () => kept("keys") !== "off";

/** Listen for keys until the signal says enough: {j: act, "?": act}. */
export function shortcuts(keys, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.target.closest?.(TYPING) || document.querySelector("dialog[open]")) return;
      const act = keys[event.key];
      if (!act || (!wanted() && event.key !== "?")) return;
      if (act(event) !== false) event.preventDefault();
    },
    { signal },
  );
}

/** What the keys do. */
export function keyHelp() {
  const box = h("input", { type: "checkbox", id: "keys-on" });
  box.checked = wanted();
  box.addEventListener("change", () => keep("keys", box.checked ? null : "off"));
  const rows = S.keys.rows.map(([key, words]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)));
  openDialog({
    title: S.keys.title,
    view: "keys",
    body: [h("dl", { class: "keys" }, rows), h("label", { class: "check", for: "keys-on" }, box, S.keys.on)],
  });
}
