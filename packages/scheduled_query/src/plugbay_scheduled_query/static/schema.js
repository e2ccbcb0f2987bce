// The tables of the chosen source beside the editor: searched, opened, and put into the text with a click.
const panel = document.getElementById("schema");
const [search, note, list] = ["input", "p", "ul"].map((name) => panel.querySelector(name));
const editor = document.querySelector("ui-sql");
const MOST = 300; // tables in the list; the search finds the others
let tables = [];

panel.open = matchMedia("(min-width: 62rem)").matches;

editor.addEventListener("sql:schema", ({ detail }) => {
  tables = Object.entries(detail.tables ?? {}).map(([name, columns]) => ({ name, columns: Object.entries(columns) }));
  if (detail.state === "loading") say("Reading the tables …");
  else if (detail.state === "failed") say(`The tables could not be read. ${detail.reason}`);
  else show();
});
search.addEventListener("input", show);
search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); }); // it is no field of the form

function say(text) {
  note.textContent = text;
  note.hidden = !text;
  list.replaceChildren();
}

function show() {
  const wanted = search.value.trim().toLowerCase();
  const found = tables.map((table) => matching(table, wanted)).filter(Boolean);
  const rest = found.length - MOST;
  say(!tables.length ? "The account of this source sees no tables." : !found.length ? "No matches" : rest > 0 ? `${rest} more: search for them.` : "");
  list.replaceChildren(...found.slice(0, MOST).map((table) => item(table, Boolean(wanted) && !table.isNamed)));
}

function matching({ name, columns }, wanted) {
  const isNamed = name.toLowerCase().includes(wanted);
  const fitting = isNamed ? columns : columns.filter(([column]) => column.toLowerCase().includes(wanted));
  return isNamed || fitting.length ? { name, columns: fitting, isNamed } : undefined;
}

function item({ name, columns }, isOpen) {
  const line = document.createElement("li");
  const inner = document.createElement("ul");
  const toggle = buttonOf("sq-toggle", "", `Columns of ${name}`);
  const open = (isWanted) => {
    toggle.setAttribute("aria-expanded", isWanted);
    inner.hidden = !isWanted;
    if (isWanted && !inner.childElementCount) inner.append(...columns.map(([column, type]) => columnItem(column, type)));
  };
  toggle.addEventListener("click", () => open(inner.hidden));
  line.append(toggle, inserting(name, "sq-table-name"), inner);
  open(isOpen);
  return line;
}

function columnItem(name, type) {
  const line = document.createElement("li");
  const kind = document.createElement("small");
  kind.textContent = type.toLowerCase();
  line.append(inserting(name), kind);
  return line;
}

function inserting(name, className = "") {
  const button = buttonOf(className, name, "");
  button.title = `Insert ${name}`;
  button.addEventListener("click", () => editor.insert(editor.spell(name)));
  return button;
}

function buttonOf(className, text, label) {
  const button = Object.assign(document.createElement("button"), { type: "button", className, textContent: text });
  if (label) button.setAttribute("aria-label", label);
  return button;
}
