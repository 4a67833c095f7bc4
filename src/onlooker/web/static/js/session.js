// The session: the clock and the store of the service, and signing in, which all data needs.

import { API, askTokenWith, get, Lost, post, Refused, remove } from "./api.js";
import { emit, on } from "./bus.js";
import { setClock } from "./clock.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { S } from "./strings.js";

/** As of the last answer. */
export const session = { signed_in: false, store: null, version: "", time: 0 };

let pending = null; // the answer to the dialog that is open

/** Read the session. If it has ended, or the address has another store, reload: all data is wrong. */
export async function refreshSession(signal) {
  const found = await get("/session", { signal, quiet: true });
  setClock(found.time);
  const { signed_in, store } = session;
  Object.assign(session, found, { store: found.store ?? store });
  document.documentElement.dataset.store = session.store ?? "";
  const ended = signed_in && !found.signed_in && !pending; // a dialog on the page is not lost
  if (ended || (store !== null && session.store !== store)) location.reload();
  return found;
}

const LINK = "#login=";
addEventListener("hashchange", () => location.hash.startsWith(LINK) && location.reload());

/** Use the code in the address, if there is one; then nothing is shown before somebody signed in. */
export async function start() {
  let problem = "";
  if (location.hash.startsWith(LINK)) {
    const code = location.hash.slice(LINK.length);
    history.replaceState(null, "", location.pathname); // a code does not stay in the address
    if (!session.signed_in) await send(code).then(refreshSignedIn).catch((error) => {
      problem = error instanceof Lost ? error.message : S.token.used;
    });
  }
  while (!session.signed_in) {
    if (session.time) await signIn(problem);
    else await new Promise((resolve) => on("back", resolve)); // it did not answer yet
    problem = "";
  }
}

async function refreshSignedIn() {
  await refreshSession();
  emit("changed", { kinds: new Set(["session"]) });
}

/** Request the token from the user, once for all that need it; true if it was right. */
export function signIn(problem = "") {
  pending ??= askToken(problem).finally(() => {
    pending = null;
  });
  return pending;
}

/** Sign in before a socket is opened, because a socket cannot request the token. */
export async function ensureSignedIn() {
  await refreshSession();
  if (session.signed_in) return;
  if (!(await signIn())) throw new Refused(401, S.token.needed);
}

export async function signOut() {
  await remove("/session");
  location.reload();
}

async function askToken(problem) {
  const field = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "current-password",
    required: true, maxlength: 200, spellcheck: "false",
  });
  const errorText = h("p", { class: "error", role: "alert" }, problem);
  const form = h(
    "form",
    { class: "stack", novalidate: true },
    h("p", {}, S.token.why),
    h("label", { for: "token" }, S.token.label),
    field,
    errorText,
    h("div", { class: "actions" }, h("button", { class: "primary" }, S.token.send)),
  );
  const dialog = openDialog({ title: S.token.title, body: form, view: "token" });
  field.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await send(field.value.trim());
      await refreshSignedIn();
      dialog.close(true);
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

askTokenWith(() => signIn());

export const streamAddress = `${API}/events/stream`;
