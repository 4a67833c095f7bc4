// Reloads a page of which some files failed to load, because browsers do not load a failed module
// again. It waits until the service answers: before that, a reload would show an error page of the
// browser, which stays.
(() => {
  "use strict";
  const WAIT = 3000;
  let failed = false;

  async function reloadWhenAnswered() {
    const answer = await fetch("api/v1/alive", { cache: "no-store" }).catch(() => null);
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
