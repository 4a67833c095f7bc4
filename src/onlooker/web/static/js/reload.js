// A page of which some files are missing cannot repair itself, because browsers remember modules
// that failed to load. So it is reloaded, but only when the service answers: until then a reload
// would replace it with an error page of the browser.
(() => {
  "use strict";
  const WAIT = 3000;
  let failed = false;

  async function reloadWhenAnswered() {
    const answer = await fetch("/api/v1/session", { cache: "no-store" }).catch(() => null);
    if (answer) location.reload();
    else setTimeout(reloadWhenAnswered, WAIT);
  }

  addEventListener(
    "error",
    ({ target }) => {
      if (failed || !(target instanceof HTMLLinkElement || target instanceof HTMLScriptElement)) return;
      failed = true;
      document.getElementById("incomplete")?.removeAttribute("hidden");
      setTimeout(reloadWhenAnswered, WAIT);
    },
    { capture: true }, // these errors do not bubble
  );
})();
