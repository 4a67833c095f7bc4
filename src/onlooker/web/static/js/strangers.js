// Strangers: the best question first, then one card each, most seen first; with mouse, touch, or single keys.

import { get, post } from "./api.js";
import { every, on, throttle } from "./bus.js";
import { expire, focusName, ignored, inUse, pressFace, stranger, suggestSame, update } from "./card.js";
import { button, h, reconcile, setText } from "./dom.js";
import { keyHelp, shortcuts } from "./keys.js";
import { nameForm } from "./naming.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";
import { changed, showError } from "./undo.js";

const MOST = 60;

/** Fill the page. */
export function strangersView(page, { signal }) {
  const list = h("div", { class: "cards", data: { cards: "" } });
  const empty = emptyState(S.strangers.empty, S.strangers.emptyWords);
  empty.hidden = true;
  const hidden = h("input", { type: "checkbox", id: "hidden-too" });
  const help = button(S.strangers.shortcuts, keyHelp, { class: "plain small keys-button" });
  const chosenWords = h("p", { class: "small", role: "status" });
  const naming = nameForm({ send: (name) => together("name", { name }) });
  const join = button(S.strangers.join, () => together("join").catch(showError));
  const several = h("section", { class: "several", "aria-label": S.strangers.several, hidden: true }, chosenWords, naming.form, join, button(S.strangers.ignore, () => together("ignore").catch(showError)), button(S.strangers.chooseNone, chooseNone, { class: "plain" }));
  page.append(
    heading(S.views.strangers, S.strangers.lead, h("label", { class: "check", for: "hidden-too" }, hidden, S.strangers.hidden), help),
    several,
    list,
    empty,
  );

  const boxes = () => [...list.querySelectorAll("[data-choose]:checked")];
  function showChosen() {
    const count = boxes().length;
    several.hidden = count === 0;
    join.disabled = count < 2;
    if (count) setText(chosenWords, S.strangers.chosenCards(count));
  }
  function chooseNone() {
    for (const box of boxes()) box.checked = false;
    showChosen();
    page.querySelector("h1").focus();
  }
  /** Name, join or ignore the chosen cards, in one change. */
  async function together(verb, more = {}) {
    const chosen = boxes().map((box) => Number(box.dataset.choose));
    const answer = await post(`/strangers/${verb}`, { cards: chosen, ...more });
    naming.field.value = "";
    chooseNone();
    changed(verb === "name" ? S.strangers.named(answer.person.name, answer.taught) : verb === "join" ? S.strangers.joined(chosen.length) : S.strangers.ignored, answer.undo);
    refresh();
  }
  on("chosen", showChosen, signal);

  let question = null; // the card that is asked about
  let answers = 0;
  let moveOn = false; // after an answer, the focus goes to the next question
  const refresh = every(4000, async () => {
    const before = answers;
    const [found, questions, pairs] = await Promise.all([
      get(`/strangers${hidden.checked ? "?hidden=true" : ""}`, { signal }),
      hidden.checked ? [] : get("/questions?limit=20", { signal }),
      hidden.checked ? [] : get("/strangers/same", { signal }),
    ]);
    if (before !== answers) return; // answered since; it is read again
    const busy = list.contains(document.activeElement) && !moveOn;
    const same = busy && questions.find((one) => one.card === question?.card && one.candidate === question.candidate);
    question = same || questions[0] || null;
    const cards = hidden.checked ? found.filter((card) => card.hidden) : found.filter((card) => card.card !== question?.card);
    draw((question ? [question, ...cards] : cards).slice(0, MOST));
    const about = new Map(pairs.reverse().map((pair) => [String(pair.card), pair])); // the nearest of each
    for (const one of list.children) if (!one.dataset.gone) suggestSame(one, about.get(one.dataset.card) ?? null);
    showChosen();
    if (moveOn) (list.querySelector("[data-question]") ?? page.querySelector("h1")).focus();
    moveOn = false;
  }, signal);
  function answered() {
    answers += 1;
    moveOn = true;
    refresh();
  }

  function draw(cards) {
    const here = new Set(cards.map((card) => String(card.card)));
    // A card that expires while the user works on it stays, with a note.
    const busy = [...list.children].filter((one) => !here.has(one.dataset.card) && (one.dataset.gone || inUse(one)));
    busy.forEach(expire);
    const all = [...cards];
    for (const one of busy) all.splice([...list.children].indexOf(one), 0, { card: one.dataset.card, element: one });
    reconcile(list, settled(all), (card) => card.card, (card) => card.element ?? stranger(card, { gone: refresh, answered }), (node, card) => card.element ?? update(node, card, card === question));
    empty.hidden = list.childElementCount > 0;
    list.dataset.count = cards.length;
  }

  /** While a card has the focus the order stays, so that cards do not move away from the user. */
  function settled(all) {
    if (moveOn || !list.contains(document.activeElement)) return all;
    const place = new Map([...list.children].map((one, at) => [one.dataset.card, at]));
    const rank = (card) => place.get(String(card.card)) ?? place.size;
    return all.map((card, at) => [card, at]).sort((one, other) => rank(one[0]) - rank(other[0]) || one[1] - other[1]).map(([card]) => card);
  }

  hidden.addEventListener("change", refresh);
  on("changed", throttle(2500, refresh, signal), signal);

  const current = () => document.activeElement?.closest?.(".card") ?? null;
  function move(step) {
    const all = [...list.children];
    const at = all.indexOf(current());
    const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }
  const withCard = (act) => () => {
    const card = current() ?? list.firstElementChild;
    if (card && !card.dataset.gone) act(card);
  };
  const keys = { j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), n: withCard(focusName), i: withCard((card) => void ignored(card)) };
  for (let digit = 1; digit <= 9; digit += 1) keys[digit] = withCard((card) => pressFace(card, digit - 1));
  shortcuts(keys, signal);
  list.addEventListener("keydown", (event) => {
    if (event.key === "Escape") current()?.focus();
  });
}
