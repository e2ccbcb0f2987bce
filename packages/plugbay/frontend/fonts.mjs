// Cuts the fonts to what the pages use: weights 400 to 700, one file per script, and a small set of icons.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import subsetFont from "subset-font";

const OUT = "build";
const WEIGHTS = { wght: { min: 400, max: 700 } };
const FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl", "tnum", "cv11", "ss01"]; // no code ligatures: SQL shows what was typed

// "U+0000-00FF,U+0131" → the characters themselves
function characters(ranges) {
  return ranges.split(",").flatMap((range) => {
    const [from, to] = range.trim().slice(2).split("-").map((hex) => parseInt(hex, 16));
    return Array.from({ length: (to ?? from) - from + 1 }, (_, i) => String.fromCodePoint(from + i));
  }).join("");
}

// Rewrites each @font-face of a fontsource package to a lighter file; the browser fetches only the scripts on the page.
async function textFont(name, source) {
  const folder = `node_modules/@fontsource-variable/${source}`;
  const faces = readFileSync(`${folder}/index.css`, "utf8").match(/@font-face\s*{[^}]*}/g);
  const rules = await Promise.all(faces.map(async (face) => {
    const file = face.match(/url\(([^)]+)\)/)[1];
    const range = face.match(/unicode-range:\s*([^;]+);/)[1];
    const script = path.basename(file).slice(source.length + 1).replace("-wght-normal.woff2", "");
    const target = `${name}${script === "latin" ? "" : `-${script}`}.woff2`;
    const cut = await subsetFont(readFileSync(path.join(folder, file)), characters(range), { targetFormat: "woff2", noHinting: true, keepFeatures: FEATURES, variationAxes: WEIGHTS });
    writeFileSync(`${OUT}/${target}`, cut);
    return face.replace(file, `./${target}`).replace("100 900", "400 700").replace("100 800", "400 700");
  }));
  writeFileSync(`${OUT}/${name}.css`, rules.join("\n"));
}

// "f015" is a number already; a plain sign such as "+" stands for itself
const hexOf = (code) => (/^[0-9a-f]{2,}$/.test(code) ? code : code.codePointAt(0).toString(16));

// Two faces of one family: our own pages need only the small file, and any other icon brings in the whole font.
async function iconFont() {
  const folder = "node_modules/@fortawesome/fontawesome-free";
  const css = readFileSync(`${folder}/css/fontawesome.css`, "utf8");
  const wanted = new Set(readFileSync("src/icons.txt", "utf8").split(/\s+/).filter(Boolean));
  const points = new Map([...css.matchAll(/\.fa-([a-z0-9-]+)\s*{\s*--fa:\s*"\\([^"]+)";\s*}/g)].map(([, name, code]) => [name, hexOf(code.trim())]));
  const unknown = [...wanted].filter((name) => !points.has(name));
  if (unknown.length) throw new Error(`src/icons.txt: unknown icons ${unknown.join(" ")}`);
  const hexes = new Set([...wanted].map((name) => points.get(name)));
  const small = await subsetFont(readFileSync(`${folder}/webfonts/fa-solid-900.woff2`),
    [...hexes].map((hex) => String.fromCodePoint(parseInt(hex, 16))).join(""), { targetFormat: "woff2" });
  writeFileSync(`${OUT}/icons.woff2`, small);
  const face = (file, ranges) => `@font-face{font-family:"Icons";font-weight:900;font-display:block;src:url("${file}") format("woff2");unicode-range:${ranges}}\n`;
  const rule = (name) => `.fa-${name}{--fa:"\\${points.get(name)}"}\n`;
  // later faces win where ranges overlap
  writeFileSync(`${OUT}/icons.css`, face(`../${folder}/webfonts/fa-solid-900.woff2`, "U+0-FFFF")
    + face("./icons.woff2", [...hexes].map((hex) => `U+${hex}`).join(",")) + [...wanted].sort().map(rule).join(""));
  writeFileSync(`${OUT}/icons-rest.css`, [...points.keys()].filter((name) => !wanted.has(name)).map(rule).join(""));
}

mkdirSync(OUT, { recursive: true });
await Promise.all([textFont("inter", "inter"), textFont("jetbrains-mono", "jetbrains-mono"), iconFont()]);
