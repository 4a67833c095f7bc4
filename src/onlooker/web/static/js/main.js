// Start: the shell, the connection, the views.

import { addView } from "./add.js";
import { get, Lost } from "./api.js";
import { auditView } from "./audit.js";
import { ownCameras } from "./browser_camera.js";
import { on } from "./bus.js";
import { connect } from "./connection.js";
import { eventsView } from "./events.js";
import { healthView } from "./health.js";
import { keyHelp, shortcuts } from "./keys.js";
import { liveView } from "./live.js";
import { mapView } from "./map.js";
import { peopleView } from "./people.js";
import { photosView } from "./photos.js";
import { retryPictures } from "./pictures.js";
import { route, startRouter } from "./router.js";
import { start } from "./session.js";
import { buildShell } from "./shell.js";
import { sitesView } from "./sites.js";
import { strangersView } from "./strangers.js";
import { startSummary } from "./summary.js";
import { showError, undoLast } from "./undo.js";

performance.setResourceTimingBufferSize(100); // browsers record more requests otherwise, which takes memory
buildShell();
// All views are loaded with the page: a browser remembers a module that failed to load, so a view
// first needed while the service is away could not be loaded again without reloading the page.
const VIEWS = {
  live: liveView, strangers: strangersView, people: peopleView, map: mapView,
  events: eventsView, health: healthView, sites: sitesView, add: addView, audit: auditView,
  photos: photosView,
};
for (const [name, view] of Object.entries(VIEWS)) route(name, view);
retryPictures();
shortcuts({ u: () => void undoLast(), "?": keyHelp });

const shownAt = new Map();
on("error", (error) => {
  // The banner already shows a loss, and an error that repeats is shown at most once a minute.
  const before = shownAt.get(error.message) ?? -Infinity;
  if (error instanceof Lost || performance.now() - before < 60000) return;
  if (shownAt.size > 20) shownAt.clear();
  shownAt.set(error.message, performance.now());
  showError(error);
});
await connect();
await start();
startSummary();
if (!location.hash) {
  const cameras = await get("/cameras", { quiet: true }).catch(() => [null]);
  if (!cameras.length && !ownCameras.size) history.replaceState(null, "", "#/add");
}
startRouter();
document.documentElement.dataset.ready = "yes";
