// The session: the clock and the store of the service, and the token that changes need.

import { API, askTokenWith, get, Lost, post, Refused, remove } from "./api.js";
import { emit } from "./bus.js";
import { setClock } from "./clock.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { S } from "./strings.js";

/** As of the last answer. */
export const session = { signed_in: false, needs_token: true, store: null, version: "", time: 0 };

/** Read the session. If the address now has another store, all data is wrong: reload the page. */
export async function refreshSession(signal) {
  const found = await get("/session", { signal, quiet: true });
  setClock(found.time);
  const other = session.store !== null && found.store !== session.store;
  Object.assign(session, found);
  document.documentElement.dataset.store = found.store;
  if (other) location.reload();
  return found;
}

let pending = null;

/** Request the token from the user, once for all that need it; true if it was right. */
export function signIn() {
  pending ??= askToken().finally(() => {
    pending = null;
  });
  return pending;
}

/** Sign in before a socket is opened, because a socket cannot request the token. */
export async function ensureSignedIn() {
  await refreshSession();
  if (session.signed_in || !session.needs_token) return;
  if (!(await signIn())) throw new Refused(401, S.token.needed);
}

export async function signOut() {
  await remove("/session");
  await refreshSession();
  emit("changed", { kinds: new Set(["session"]) });
}

async function askToken() {
  const field = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "current-password",
    required: true, maxlength: 200, spellcheck: "false",
  });
  const errorText = h("p", { class: "error", role: "alert" });
  const form = h(
    "form",
    { class: "stack", novalidate: true },
    h("p", {}, S.token.why),
    h("label", { for: "token" }, S.token.label),
    field,
    errorText,
    h("p", { class: "quiet small" }, S.token.lost),
    h("div", { class: "actions" }, h("button", { class: "primary" }, S.token.send)),
  );
  const dialog = openDialog({ title: S.token.title, body: form, view: "token" });
  field.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await send(field.value.trim());
      await refreshSession();
      dialog.close(true);
      emit("changed", { kinds: new Set(["session"]) });
    } catch (error) {
      errorText.textContent = error.message;
      field.select();
    }
  });
  return (await dialog.closed) === true;
}

async function send(token) {
  if (!token) throw new Error(S.token.wrong);
  try {
    await post("/session", { token }, { quiet: true });
  } catch (error) {
    if (error instanceof Lost || error.status !== 401) throw error;
    throw new Error(S.token.wrong);
  }
}

askTokenWith(signIn);

export const streamAddress = `${API}/events/stream`;
