// A picture that failed to load is not requested again by the browser, so the page does it.

import { on } from "./bus.js";

/** Start: whenever the service is back, every failed picture is requested again. */
export function retryPictures() {
  on("back", () => {
    for (const image of document.images) {
      if (image.complete && !image.naturalWidth) image.setAttribute("src", image.getAttribute("src"));
    }
  });
}
