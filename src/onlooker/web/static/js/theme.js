// Light or dark: as the system says, until somebody says otherwise.

import { emit } from "./bus.js";
import { button, setAttribute } from "./dom.js";
import { icon } from "./icons.js";
import { keep } from "./kept.js";
import { S } from "./strings.js";

const system = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

/** The button that changes it. */
export function themeButton() {
  const made = button(icon("sun"), flip, { class: "plain round" });
  function show() {
    made.replaceChildren(icon(isDark() ? "sun" : "moon"));
    setAttribute(made, "aria-label", isDark() ? S.theme.toLight : S.theme.toDark);
    setAttribute(made, "title", made.getAttribute("aria-label"));
  }
  function flip() {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    keep("theme", theme);
    show();
    emit("theme");
  }
  system.addEventListener("change", () => {
    show();
    emit("theme");
  });
  show();
  return made;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Whether things may move for the sake of moving. */
export const mayMove = () => !still.matches;
