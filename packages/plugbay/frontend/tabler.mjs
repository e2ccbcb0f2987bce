// Leaves out of Tabler what no page here can use: components that need Bootstrap's JavaScript, which is not shipped,
// skins for third-party widgets, and the colours of other companies. About a fifth of the style sheet.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const BRANDS = "x|facebook|twitter|linkedin|google|youtube|vimeo|dribbble|github|instagram|pinterest|vk|rss|flickr|bitbucket|tabler";
const BRAND_COLOURS = new RegExp(`--tblr-(${BRANDS})(-[a-z0-9-]+)?:[^;}]*;?`, "g");
const UNUSED = [
  /\.(accordion|bs-popover|bs-tooltip|calendar|carousel|chat|form-colorinput|form-imagecheck|io-|legend|litepicker|markdown|modal|offcanvas|otp|photo|popover|ribbon|signal|signature|strength|switch-icon|tooltip)/,
  /\.(apexcharts|dropzone|flatpickr|fslightbox|irs|jvm|noUi|plyr|tom-|ts-|tracking)/,
  new RegExp(`-(${BRANDS})(-lt|-fg|-lt-fg)?\\b`),
  /^(html\[data-bs-navbar-theme|body\[data-)/, // another way to switch themes
];

// the rules of one level: from the end of one to its own closing brace
function* rules(css) {
  for (let depth = 0, start = 0, i = 0; i < css.length; i++) {
    if (css[i] === "{") depth++;
    if (css[i] === "}") depth--;
    if (depth === 0 && (css[i] === "}" || css[i] === ";")) {
      yield css.slice(start, i + 1);
      start = i + 1;
    }
  }
}

function trim(css) {
  return [...rules(css)].map((rule) => {
    const brace = rule.indexOf("{");
    const head = rule.slice(0, brace);
    if (/^@(media|supports)/.test(head)) {
      const inner = trim(rule.slice(brace + 1, -1));
      return inner && `${head}{${inner}}`;
    }
    if (brace < 0 || head.startsWith("@")) return rule;
    const kept = head.split(/,(?![^(]*\))/).filter((selector) => !UNUSED.some((pattern) => pattern.test(selector.trim())));
    return kept.length ? kept.join(",") + rule.slice(brace) : "";
  }).join("");
}

mkdirSync("build", { recursive: true });
const source = readFileSync("node_modules/@tabler/core/dist/css/tabler.min.css", "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
writeFileSync("build/tabler.css", trim(source).replace(BRAND_COLOURS, ""));
