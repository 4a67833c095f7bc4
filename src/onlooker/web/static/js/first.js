// Runs before the first paint, so that a dark page does not flash white.
(() => {
  "use strict";
  try {
    const theme = localStorage.getItem("onlooker.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // storage may be forbidden; then the theme of the system is used
  }
})();
