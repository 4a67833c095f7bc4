// Questions to the service. Every failure becomes a sentence; a missing token is asked for once.

import { emit } from "./bus.js";
import { S } from "./strings.js";

export const API = "/api/v1";

/** The service answered, and the answer is no. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** Nobody answered. */
export class Lost extends Error {}

let signIn = async () => false;

/** Who asks for the token; true if it was given. */
export function askTokenWith(asker) {
  signIn = asker;
}

async function sentence(answer) {
  try {
    const told = (await answer.json()).detail;
    return typeof told === "string" && told ? told : S.errors.status(answer.status);
  } catch {
    return S.errors.status(answer.status);
  }
}

/** What a transfer that failed, even halfway, means to the caller. */
function lost(error, signal) {
  if (error.name === "AbortError" || error.name === "SyntaxError") return error;
  if (!signal?.aborted) emit("unreachable"); // the caller's own time limit says nothing certain
  return new Lost(S.errors.lost);
}

async function ask(method, path, { body, signal, headers = {}, quiet = false } = {}, again = true) {
  const options = { method, signal, headers: { ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  const failed = (error) => {
    throw lost(error, signal);
  };
  const answer = await fetch(API + path, options).catch(failed);
  if (answer.status === 401 && again && !quiet && (await signIn())) {
    return ask(method, path, { body, signal, headers }, false);
  }
  if (answer.status === 304) return undefined;
  if (!answer.ok) throw new Refused(answer.status, await sentence(answer));
  if (answer.status === 204) return null;
  return answer.json().catch(failed);
}

export const get = (path, options) => ask("GET", path, options);
export const post = (path, body, options) => ask("POST", path, { ...options, body });
export const patch = (path, body, options) => ask("PATCH", path, { ...options, body });
export const remove = (path, options) => ask("DELETE", path, options);

/** A part of an address, made safe. */
export const part = encodeURIComponent;

/** ?a=1&b=2 of what is given; what is empty is left out. */
export function query(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** The address of a socket of the service. */
export function socketAddress(path) {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${API}${path}`;
}

/** Close it without a word from the browser, which complains of one that did not open yet. */
export function hangUp(socket) {
  if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket?.close();
}

export const pictureOf = {
  vertex: (vertex) => `${API}/faces/${vertex}/picture`,
  card: (card, key) => `${API}/strangers/${card}/faces/${key}`,
  seen: (camera, track) => `${API}/seen/${part(camera)}/${track}/picture`,
};
