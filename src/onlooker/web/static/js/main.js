// Begin: the shell, the connection, the views.

import { get, Lost } from "./api.js";
import { guests } from "./browser_camera.js";
import { on } from "./bus.js";
import { connect } from "./connection.js";
import { keyHelp, shortcuts } from "./keys.js";
import { liveView } from "./live.js";
import { emptyState, go, heading, route, startRouter } from "./router.js";
import { buildShell } from "./shell.js";
import { S } from "./strings.js";
import { startSummary } from "./summary.js";
import { complain, undoLast } from "./undo.js";

performance.setResourceTimingBufferSize(100); // the browser keeps a line for every request otherwise
buildShell();
route("live", liveView);
// The other views are fetched a moment later: the first picture is sooner there.
const VIEWS = {
  strangers: () => import("./strangers.js"),
  people: () => import("./people.js"),
  map: () => import("./map.js"),
  events: () => import("./events.js"),
  health: () => import("./health.js"),
  sites: () => import("./sites.js"),
  add: () => import("./add.js"),
};
for (const [name, load] of Object.entries(VIEWS)) {
  route(name, async (page, given) => {
    const module = await load().catch(() => null);
    if (given.signal.aborted) return;
    if (module) {
      await module[`${name}View`](page, given);
      return;
    }
    page.append(heading(S.views[name], ""), emptyState(S.errors.lost, ""));
    on("back", () => go(name, given.argument), given.signal);
  });
}
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
setTimeout(async () => {
  for (const load of Object.values(VIEWS)) await load().catch(() => {}); // tried again when wanted
}, 2000);
