// Bundles the browser assets of one Python package: every file directly in src/ becomes one, under a name that
// carries the hash of its content. hatch_build.py runs it; `npm run watch` is for work on the sources.
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import zlib from "node:zlib";

// plugins share this file through a symbolic link: packages are looked up where it was called, not where it lives
const { build, context } = createRequire(path.resolve("package.json"))("esbuild");
const [python] = readdirSync("../src").filter((name) => name.startsWith("plugbay"));
const outdir = path.resolve("../src", python, "static/dist");

const sources = readdirSync("src").filter((name) => /\.(js|css|svg)$/.test(name)).map((name) => `src/${name}`);
const classic = sources.filter((name) => readFileSync(name, "utf8").startsWith("// classic script"));
const options = {
  outdir, bundle: true, minify: true, metafile: true, target: "es2022", logLevel: "warning", legalComments: "none",
  entryNames: "[name]-[hash]", assetNames: "[name]-[hash]", chunkNames: "chunk-[hash]",
  loader: { ".woff2": "file", ".svg": "copy" },
};

// "app.js" → "app-5XK2QZ7A.js", for entry points and for files such as fonts
function manifest(names) {
  return Object.fromEntries(names.filter((name) => !name.startsWith("chunk-"))
    .map((name) => [name.replace(/-[A-Z0-9]{8}(\.\w+)$/, "$1"), name]).sort());
}

// the licence of every bundled package travels with the bundle
function licences(inputs) {
  const folders = new Set(inputs.map((file) => file.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0]).filter(Boolean));
  const { bundledLicences = [] } = JSON.parse(readFileSync("package.json"));
  for (const name of bundledLicences) folders.add(`node_modules/${name}`);
  return [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`));
    const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    return [`${name} ${version} (${license})`, ...texts.map((file) => readFileSync(`${folder}/${file}`, "utf8").trim())].join("\n\n");
  }).join(`\n\n${"-".repeat(80)}\n\n`);
}

// compressed once here, at the highest level, instead of at every request
function compress(name) {
  if (!/\.(js|css|svg)$/.test(name)) return;
  const bytes = readFileSync(path.join(outdir, name));
  writeFileSync(path.join(outdir, `${name}.gz`), zlib.gzipSync(bytes, { level: 9 }));
  writeFileSync(path.join(outdir, `${name}.br`), zlib.brotliCompressSync(bytes));
}

// only now, when the new files are there: a build that fails leaves the old ones as they were
function removeOthers(kept) {
  const wanted = new Set(kept.flatMap((name) => [name, `${name}.gz`, `${name}.br`]));
  for (const name of readdirSync(outdir)) if (!wanted.has(name)) rmSync(path.join(outdir, name));
}

function finish(results) {
  const outputs = Object.assign({}, ...results.map(({ metafile }) => metafile.outputs));
  const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const names = Object.keys(outputs).map((file) => path.basename(file));
  for (const name of names) compress(name);
  writeFileSync(path.join(outdir, "THIRD_PARTY_LICENSES.txt"), `${licences(inputs)}\n`);
  writeFileSync(path.join(outdir, "manifest.json"), JSON.stringify(manifest(names), null, 1));
  removeOthers([...names, "THIRD_PARTY_LICENSES.txt", "manifest.json"]);
}

const runs = [
  { ...options, entryPoints: sources.filter((name) => !classic.includes(name)), splitting: true, format: "esm" },
  ...(classic.length ? [{ ...options, entryPoints: classic, format: "iife" }] : []),
];
if (process.argv.includes("--watch")) {
  const results = [];
  const onEnd = (i) => ({ name: "finish", setup: (b) => b.onEnd((result) => { results[i] = result; if (results.filter((r) => r?.metafile).length === runs.length) finish(results); }) });
  for (const [i, run] of runs.entries()) await (await context({ ...run, plugins: [onEnd(i)] })).watch();
} else {
  finish(await Promise.all(runs.map((run) => build(run))));
}
