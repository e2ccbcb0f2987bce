// How a table is drawn, chosen from the columns of the result at hand. The form's field is the JSON text `chart`.
const field = document.querySelector("form.sq-editor [name=chart]");
const box = document.getElementById("chart");
const [kind, x, y] = ["kind", "x", "y"].map((name) => box.querySelector(`[data-part-of=${name}]`));
const problem = box.querySelector("[role=status]");
const FIRST = 3; // columns that are drawn until somebody chooses
const MOST = 8;
const NUMBER = /^[+-]?(\d+(\.\d+)?|\.\d+)$/;
let columns = [], rows = [];

const numberOf = (cell) => (typeof cell === "number" ? cell : typeof cell === "string" && NUMBER.test(cell) ? Number(cell) : null);
const isNumeric = (name) => rows.some((row) => numberOf(row[columns.indexOf(name)]) !== null) && rows.every((row) => row[columns.indexOf(name)] === null || numberOf(row[columns.indexOf(name)]) !== null);
const read = () => { try { return JSON.parse(field.value || "null"); } catch { return null; } };

function take() {
  const { columns: names, rows: text } = document.getElementById("tried").dataset;
  columns = JSON.parse(names ?? "[]");
  rows = JSON.parse(text ?? "[]");
  box.hidden = !columns.length || !rows.length;
  x.replaceChildren(...columns.map((name) => new Option(name)));
  show();
}

function show() {
  const chart = read();
  kind.value = chart?.kind ?? "";
  for (const part of box.querySelectorAll("[data-drawn]")) part.hidden = !chart;
  problem.textContent = "";
  if (chart && columns.length) {
    x.value = chart.x;
    y.replaceChildren(...columns.filter((name) => name !== chart.x && (isNumeric(name) || chart.y.includes(name))).map((name) => choice(name, chart.y.includes(name))));
    const missing = [chart.x, ...chart.y].filter((name) => !columns.includes(name));
    if (missing.length) problem.textContent = `Not in this result: ${missing.join(", ")}`;
  }
  draw(chart);
}

function choice(name, isChosen) {
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", className: "form-check-input", value: name, checked: isChosen });
  label.append(box, ` ${name}`);
  return label;
}

function draw(chart) {
  const place = document.querySelector("#tried .sq-drawn");
  if (!place) return;
  const names = chart ? [chart.x, ...chart.y].map((name) => columns.indexOf(name)) : [-1];
  place.hidden = names.includes(-1);
  if (place.hidden) return place.replaceChildren();
  const [along, ...heights] = names;
  const data = { kind: chart.kind, x: rows.map((row) => row[along] ?? "NULL"), series: heights.map((at) => ({ label: columns[at], values: rows.map((row) => numberOf(row[at])) })) };
  const drawn = document.createElement("ui-chart");
  drawn.className = "ui-small";
  drawn.dataset.chart = JSON.stringify(data);
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `${chart.y.join(", ")} along ${chart.x}`);
  place.replaceChildren(drawn);
  document.dispatchEvent(new Event("htmx:afterSettle")); // the script for charts is fetched with the first of them
}

function choose() {
  field.value = kind.value ? JSON.stringify(chosen()) : "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function chosen() {
  const before = read();
  const along = before ? x.value : columns.find((name) => !isNumeric(name)) ?? columns[0];
  const ticked = [...y.querySelectorAll(":checked")].map(({ value }) => value).filter((name) => before && name !== along);
  const usual = columns.filter((name) => name !== along && isNumeric(name)).slice(0, FIRST);
  return { kind: kind.value, x: along, y: (ticked.length ? ticked : usual).slice(0, MOST) };
}

for (const control of [kind, x, y]) control.addEventListener("change", choose);
field.addEventListener("input", show);
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => { if (target.id === "tried") take(); });
take();
