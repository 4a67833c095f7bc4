// The texts of the page in the language that was chosen, or that the browser asks for.

import { readSetting } from "./settings.js";

const LANGUAGES = ["en", "de"];

/** The language that was chosen here, or the first of the browser's that there is. */
function language() {
  const wanted = [readSetting("language"), ...navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase())];
  return wanted.find((code) => LANGUAGES.includes(code)) ?? "en";
}

/** Load the texts of one language: the page waits for them, and the others would be weight. */
async function load(code) {
  const file = new URL(`../texts/${code}.js`, import.meta.url).href;
  const link = document.createElement("link");
  Object.assign(link, { rel: "modulepreload", href: file });
  document.head.append(link); // reload.js hears of a link that failed, not of an import
  return (await import(file)).texts;
}

/** The texts of the page in its language. */
export const S = await load(language());
