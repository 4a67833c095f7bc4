// Single-key shortcuts: inactive while text is typed, and users can switch them off.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { readSetting, writeSetting } from "./settings.js";
import { S } from "./strings.js";

const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/** Whether shortcuts are switched on. */
const wanted = () => readSetting("keys") !== "off";

/** Listen for keys until the signal aborts: {j: act, "?": act}. */
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

/** Show what the keys do. */
export function keyHelp() {
  const box = h("input", { type: "checkbox", id: "keys-on" });
  box.checked = wanted();
  box.addEventListener("change", () => writeSetting("keys", box.checked ? null : "off"));
  const rows = S.keys.rows.map(([key, words]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)));
  openDialog({
    title: S.keys.title,
    view: "keys",
    body: [h("dl", { class: "keys" }, rows), h("label", { class: "check", for: "keys-on" }, box, S.keys.on)],
  });
}
