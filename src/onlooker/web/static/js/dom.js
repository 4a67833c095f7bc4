// Elements without markup: what users type is always text, never HTML.

const PLAIN = new Set(["class", "on", "data"]);

/** An element: h("p", {class: "quiet"}, "text"). null, undefined and false are omitted. */
export function h(kind, given = {}, ...children) {
  const made = document.createElement(kind);
  if (given.class) made.className = given.class;
  if (given.data) Object.assign(made.dataset, given.data);
  for (const [name, value] of Object.entries(given)) {
    if (PLAIN.has(name) || value === null || value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, listener] of Object.entries(given.on ?? {})) {
    made.addEventListener(name, listener);
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false));
  return made;
}

/** A button that never submits anything. */
export function button(text, click, given = {}) {
  return h("button", { type: "button", ...given, on: { click, ...given.on } }, text);
}

/** Change the text only if it differs, so that screen readers do not repeat it. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Change an attribute only if it differs. */
export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** A picture of a face; one that fails to load is hidden, and its space stays. */
export function face(source, words, given = {}) {
  const picture = h("img", { alt: words, loading: "lazy", decoding: "async", width: 96, height: 96, ...given });
  picture.addEventListener("error", () => picture.classList.add("broken"));
  picture.addEventListener("load", () => picture.classList.remove("broken"));
  picture.src = source;
  return picture;
}

/** Make the children of an element match the items, in order; elements are reused by key. */
export function reconcile(parent, items, keyOf, make, update) {
  const there = new Map([...parent.children].map((one) => [one.dataset.key, one]));
  let before = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let node = there.get(key);
    if (node) there.delete(key);
    else {
      node = make(item);
      node.dataset.key = key;
    }
    update?.(node, item);
    if (node === before) before = before.nextElementSibling;
    else parent.insertBefore(node, before);
  }
  for (const gone of there.values()) gone.remove();
}

/** The current color of a CSS variable, in a form that canvas accepts. */
export function color(variable) {
  const probe = h("span", { hidden: true });
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}
