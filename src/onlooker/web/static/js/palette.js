// A style for every name: eight colors that remain distinct with color blindness, three fills and
// the first letter, so that names never differ by color alone.

const LIGHT = ["#0072b2", "#c2470a", "#00795a", "#a23e83", "#8a6100", "#5b4bc4", "#8c4a2f", "#4a5568"];
const DARK = ["#5ab8f0", "#ff9257", "#33d0a3", "#e792c8", "#f0c452", "#b3a4ff", "#dba480", "#c3cbd9"];
const FILLS = ["solid", "hollow", "half"];

/** name -> {color, fill, initial}, in the order given; null is nobody. */
export function stylesOf(names, dark) {
  const colors = dark ? DARK : LIGHT;
  const given = new Map();
  names.forEach((name, at) => {
    given.set(name, {
      color: colors[at % colors.length],
      fill: FILLS[Math.floor(at / colors.length) % FILLS.length],
      initial: [...name][0].toLocaleUpperCase(),
    });
  });
  given.set(null, { color: dark ? "#8b8f98" : "#767a83", fill: "hollow", initial: "" });
  return given;
}
