// Settings of the page in the storage of this browser, which may be forbidden or full.

/** The value of a setting, or null. */
export function readSetting(name) {
  try {
    return localStorage.getItem(`onlooker.${name}`);
  } catch {
    return null;
  }
}

/** Store a setting; null deletes it. */
export function writeSetting(name, text) {
  try {
    if (text === null) localStorage.removeItem(`onlooker.${name}`);
    else localStorage.setItem(`onlooker.${name}`, text);
  } catch {
    // then it is not stored
  }
}
