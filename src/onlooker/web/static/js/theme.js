// Theme and language: those of the system and the browser, until the user chooses another.

import { emit } from "./bus.js";
import { button, setAttribute } from "./dom.js";
import { icon } from "./icons.js";
import { writeSetting } from "./settings.js";
import { S } from "./strings.js";

const system = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

/** The button that changes the theme. */
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
    writeSetting("theme", theme);
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

/** The button that shows the page in the other language. */
export function languageButton() {
  document.documentElement.lang = S.language.code;
  const made = button(S.language.other.slice(0, 2), () => {
    writeSetting("language", S.language.code === "de" ? "en" : "de");
    location.reload();
  }, { class: "plain round" });
  made.lang = S.language.code === "de" ? "en" : "de";
  setAttribute(made, "aria-label", S.language.toOther);
  setAttribute(made, "title", S.language.toOther);
  return made;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Whether animations are allowed. */
export const mayMove = () => !still.matches;
