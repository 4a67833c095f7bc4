// Requests to the service. Every failure becomes an Error with a readable message; a missing token
// is requested from the user once.

import { emit } from "./bus.js";
import { S } from "./strings.js";

/** The address of the service's interface; a proxy may offer the page under a path. */
export const API = new URL("../../api/v1", import.meta.url).pathname;

/** The service answered with an error status. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The service did not answer. */
export class Lost extends Error {}

/** Milliseconds for the answer to a GET. A connection that is cut without a word (another network, a
 * proxy) says neither yes nor no, and a view that waits for ever does not heal. */
const PATIENCE = 60000;

let signIn = async () => false;

/** Set the function that requests the token from the user; it resolves to true if it was right. */
export function askTokenWith(asker) {
  signIn = asker;
}

async function sentence(answer) {
  try {
    const detail = (await answer.json()).detail;
    return typeof detail === "string" && detail ? S.fromService(detail) : S.errors.status(answer.status);
  } catch {
    return S.errors.status(answer.status);
  }
}

/** The error to throw for a transfer that failed, even halfway. */
function lost(error, signal) {
  if (error.name === "AbortError" || error.name === "SyntaxError") return error;
  if (!signal?.aborted) emit("unreachable"); // the caller's own timeout proves nothing
  return new Lost(S.errors.lost);
}

async function ask(method, path, { body, signal, headers = {}, quiet = false } = {}, again = true) {
  const late = new AbortController();
  const timer = method === "GET" ? setTimeout(() => late.abort(new DOMException("", "TimeoutError")), PATIENCE) : 0;
  const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  const options = { method, signal: either, headers: { ...headers } };
  if (body !== undefined) {
    const isFile = body instanceof Blob;
    options.body = isFile ? body : JSON.stringify(body);
    options.headers["content-type"] = isFile ? "application/octet-stream" : "application/json";
  }
  const failed = (error) => {
    throw lost(error, signal);
  };
  try {
    const answer = await fetch(API + path, options).catch(failed);
    if (answer.status === 401) clearTimeout(timer); // a person may take longer
    if (answer.status === 401 && again && !quiet && (await signIn())) {
      return ask(method, path, { body, signal, headers }, false);
    }
    if (answer.status === 304) return undefined;
    if (!answer.ok) throw new Refused(answer.status, await sentence(answer));
    if (answer.status === 204) return null;
    return await answer.json().catch(failed);
  } finally {
    clearTimeout(timer);
  }
}

export const get = (path, options) => ask("GET", path, options);
export const post = (path, body, options) => ask("POST", path, { ...options, body });
export const patch = (path, body, options) => ask("PATCH", path, { ...options, body });
export const remove = (path, options) => ask("DELETE", path, options);

/** Escape a part of an address. */
export const part = encodeURIComponent;

/** A query string such as ?a=1&b=2; empty fields are omitted. */
export function query(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** The address of a WebSocket of the service. */
export function socketAddress(path) {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${API}${path}`;
}

/** Close a socket. One that is not open yet is closed when it opens: browsers log a warning else. */
export function closeSocket(socket) {
  if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket?.close();
}

export const pictureOf = {
  vertex: (vertex) => `${API}/faces/${vertex}/picture`,
  sighting: (number) => `${API}/sightings/${number}/picture`,
  card: (card, key) => `${API}/strangers/${card}/faces/${key}`,
  photo: (key) => `${API}/photos/faces/${key}/picture`,
  seen: (camera, track) => `${API}/seen/${part(camera)}/${track}/picture`,
};
