// Icons drawn with strokes. They are decoration only: there is always a text beside them.

const SPACE = "http://www.w3.org/2000/svg";
const PATHS = {
  live: "M2 12c3-5 6.3-7.5 10-7.500S19 7 22 12c-3 5-6.3 7.5-10 7.500S5 17 2 12Z M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z",
  stranger: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z M4.5 20.500c.8-4 3.7-6 7.5-6s6.7 2 7.5 6",
  people: "M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7Z M2.5 19.500c.6-3.5 3-5.2 6.5-5.200s5.9 1.7 6.5 5.2 M15.5 5.300a3.4 3.4 0 0 1 0 6.4 M17.8 14.700c2.1.7 3.3 2.3 3.7 4.8",
  map: "M6 6.500l6 4M18 5.500l-6 5M12 10.500l-4.5 8M12 10.500l6.5 6.5 M6 4.500a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z M18.5 3.500a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z M12 8.500a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z M7.5 16.500a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z M18.5 15.500a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z",
  list: "M8.5 6.500h12M8.5 12h12M8.5 17.500h12 M4 6.500h.01M4 12h.01M4 17.500h.01",
  health: "M2.5 12.500h4l2.5-6.5 4.5 12 3-7.5 1.2 2h3.8",
  sites: "M4 20V8.500l8-4.5 8 4.500V20 M9.5 20v-5.500h5V20",
  plus: "M12 5v14M5 12h14",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z M12 2.500v2M12 19.500v2M2.5 12h2M19.5 12h2M5.3 5.300l1.4 1.400M17.3 17.300l1.4 1.400M18.7 5.300l-1.4 1.400M6.7 17.300l-1.4 1.4",
  moon: "M20 14.500A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.500Z",
  close: "M6 6l12 12M18 6L6 18",
  laptop: "M5 5.500h14v10H5z M2.5 19h19",
  film: "M4 5h16v14H4z M8.5 5v14M15.5 5v14M4 9.700h4.500M4 14.300h4.500M15.5 9.700H20M15.5 14.300H20",
  cable: "M3 9.500a13 13 0 0 1 18 0M6.2 13a8.5 8.5 0 0 1 11.6 0M9.3 16.300a4.2 4.2 0 0 1 5.4 0 M12 19.500h.01",
  picture: "M4 5h16v14H4z M4 16l4.5-4.500 4 4 3-3 4.5 4.500 M15.5 8.500h.01",
  play: "M7 4.500v15l12.5-7.500z",
  check: "M4.5 12.500l5 5 10-11",
  lock: "M6 10.500h12v9.500H6z M8.5 10.500V7.500a3.5 3.5 0 0 1 7 0v3",
};

/** An icon by name. */
export function icon(name) {
  const svg = document.createElementNS(SPACE, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SPACE, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
