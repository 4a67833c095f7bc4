// Times by the server's clock, because the clock of this browser may be wrong.

import { S } from "./strings.js";

const UNITS = [
  ["days", 86400],
  ["hours", 3600],
  ["minutes", 60],
  ["seconds", 1],
];
const day = new Intl.DateTimeFormat(S.language.dates, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const clock = new Intl.DateTimeFormat(S.language.dates, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

let ahead = 0;

/** Set the clock from the time of the server. */
export function setClock(time) {
  ahead = time - Date.now() / 1000;
}

/** Seconds since 1970 by the server's clock. */
const now = () => Date.now() / 1000 + ahead;

/** "3 minutes ago" */
export function ago(time) {
  const seconds = Math.max(0, now() - time);
  if (seconds < 5) return S.time.now;
  const [unit, length] = UNITS.find(([, size]) => seconds >= size);
  return S.time[unit](Math.floor(seconds / length));
}

/** "3 hours" */
export function span(seconds) {
  const [unit, length] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3];
  return S.time.span[unit](Math.floor(seconds / length));
}

/** Date and time in this browser's time zone. */
export const moment = (time) => day.format(new Date(1000 * time));

/** The current time of day. */
export const timeOfDay = () => clock.format(new Date(1000 * now()));

const SIZES = ["B", "KB", "MB", "GB", "TB"];

/** "12.3 MB" */
export function bytes(count) {
  let at = 0;
  while (count >= 1000 && at < SIZES.length - 1) {
    count /= 1000;
    at += 1;
  }
  return `${at && count < 100 ? S.decimal(count) : Math.round(count)} ${SIZES[at]}`;
}
