// The parts around all views: navigation, banner, messages, and the footer.

import { get } from "./api.js";
import { on, untilDone } from "./bus.js";
import { bannerElement } from "./connection.js";
import { h, setAttribute, setText } from "./dom.js";
import { icon } from "./icons.js";
import { main } from "./router.js";
import { session } from "./session.js";
import { S } from "./strings.js";
import { knownNames, summary } from "./summary.js";
import { languageButton, themeButton } from "./theme.js";
import { toast, toasts } from "./undo.js";
import { eventWords } from "./words.js";

const ROOM = ["less", "little", "least"];
const VIEWS = [["live", "live"], ["strangers", "stranger"], ["people", "people"], ["map", "map"], ["audit", "check"], ["events", "list"], ["health", "health"]];

function link(name, picture) {
  return h("a", { href: `#/${name}`, data: { to: name } }, icon(picture), h("span", { class: "label" }, S.views[name]));
}

/** Build the page around the view. */
export function buildShell() {
  const links = VIEWS.map(([name, picture]) => link(name, picture));
  const list = h("ul", {}, links.map((one) => h("li", {}, one)));
  const badge = h("span", { class: "badge", hidden: true });
  links[1].append(badge);
  const add = h("a", { class: "button add", href: "#/add", data: { to: "add" } }, icon("plus"), h("span", { class: "label" }, S.views.add));
  const skip = h("a", { class: "skip", href: "#main" }, S.skip);
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  const brand = h("a", { class: "brand", href: "#/live", "aria-label": S.home }, h("img", { src: "static/icon.svg", alt: "", width: 28, height: 28 }), h("span", {}, S.title));
  const version = h("span", { class: "version" });
  const nav = h("nav", { "aria-label": S.nav }, list);
  const top = h("header", { class: "top" }, brand, nav, h("div", { class: "tools" }, add, languageButton(), themeButton()));
  document.body.replaceChildren(
    skip,
    top,
    bannerElement(),
    main,
    h("footer", { class: "foot" }, h("p", {}, icon("lock"), h("span", {}, h("strong", {}, S.local), " ", S.notAuthentication, h("span", { class: "more" }, S.noDoors))), version),
    toasts(),
    knownNames(),
  );
  const fit = () => makeRoom(top, nav);
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(document.body);
  on("summary", fit);
  let shown = "";
  const mark = () => {
    for (const one of document.querySelectorAll("[data-to]")) {
      if (one.dataset.to === shown) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
  };
  on("view", (name) => {
    shown = name;
    mark();
    fit();
  });
  on("alarm", ({ words }) => toast(S.events.alarm(S.fromService(words)), { error: true }));
  on("camera", ({ camera, changes }) => toast(S.events.cameraNews(camera, eventWords(changes)), { error: changes[0][1] === "failing" }));
  on("summary", () => {
    badge.hidden = summary.strangers === 0;
    setText(badge, summary.strangers > 99 ? "99+" : String(summary.strangers));
    setAttribute(links[1], "aria-label", summary.strangers ? `${S.views.strangers}, ${S.waiting(summary.strangers)}` : S.views.strangers);
    setText(version, S.version(session.version));
  });
  const started = new AbortController(); // with the first summary somebody is signed in
  on("summary", () => {
    started.abort();
    offerSites(list, () => {
      mark(); // it may be the view that is shown
      fit();
    });
  }, started.signal);
}

/** Leave out what is least needed of the header, until the navigation fits. */
function makeRoom(top, nav) {
  delete top.dataset.room;
  for (const room of ROOM) {
    if (nav.scrollWidth <= nav.clientWidth) return;
    top.dataset.room = room;
  }
}

function offerSites(list, offered) {
  untilDone(async () => {
    const sites = await get("/sites", { quiet: true });
    if (!sites.length) return;
    list.append(h("li", {}, link("sites", "sites")));
    offered();
  });
}
