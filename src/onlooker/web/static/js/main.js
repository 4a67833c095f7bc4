// Begin: the shell, the connection, the views.

import { addView } from "./add.js";
import { get, Lost } from "./api.js";
import { guests } from "./browser_camera.js";
import { on } from "./bus.js";
import { connect } from "./connection.js";
import { eventsView } from "./events.js";
import { healthView } from "./health.js";
import { keyHelp, shortcuts } from "./keys.js";
import { liveView } from "./live.js";
import { mapView } from "./map.js";
import { peopleView } from "./people.js";
import { retryPictures } from "./pictures.js";
import { route, startRouter } from "./router.js";
import { buildShell } from "./shell.js";
import { sitesView } from "./sites.js";
import { strangersView } from "./strangers.js";
import { startSummary } from "./summary.js";
import { complain, undoLast } from "./undo.js";

performance.setResourceTimingBufferSize(100); // the browser keeps a line for every request otherwise
buildShell();
// All views are loaded with the page: a browser remembers a module that failed to load, so a view
// first needed while the service is away could not be loaded again without reloading the page.
const VIEWS = {
  live: liveView, strangers: strangersView, people: peopleView, map: mapView,
  events: eventsView, health: healthView, sites: sitesView, add: addView,
};
for (const [name, view] of Object.entries(VIEWS)) route(name, view);
retryPictures();
shortcuts({ u: () => void undoLast(), "?": keyHelp });

const told = new Map();
on("trouble", (error) => {
  // The banner tells of a loss; and what fails with every turn is told once in a while.
  const before = told.get(error.message) ?? -Infinity;
  if (error instanceof Lost || performance.now() - before < 60000) return;
  if (told.size > 20) told.clear();
  told.set(error.message, performance.now());
  complain(error);
});
await connect();
startSummary();
if (!location.hash) {
  const cameras = await get("/cameras", { quiet: true }).catch(() => [null]);
  if (!cameras.length && !guests.size) history.replaceState(null, "", "#/add");
}
startRouter();
document.documentElement.dataset.ready = "yes";
