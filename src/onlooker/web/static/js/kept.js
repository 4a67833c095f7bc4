// What this browser keeps for itself: settings of the page. Storage may be forbidden or full.

/** What was kept under a name, or null. */
export function kept(name) {
  try {
    return localStorage.getItem(`onlooker.${name}`);
  } catch {
    return null;
  }
}

/** Keep a text under a name; null forgets it. */
export function keep(name, text) {
  try {
    if (text === null) localStorage.removeItem(`onlooker.${name}`);
    else localStorage.setItem(`onlooker.${name}`, text);
  } catch {
    // then it is not kept
  }
}
