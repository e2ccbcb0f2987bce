import { columnList, lookAround, tableIn } from "./sql_scope.js";

// What the editor proposes, in this order: columns that can be seen, tables, functions, keywords. Who typed the beginning of a
// word finds it before those who typed a part of it.
const USUAL = "SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT OFFSET JOIN LEFT RIGHT INNER FULL OUTER CROSS ON USING AS AND OR NOT IN IS NULL LIKE BETWEEN EXISTS CASE WHEN THEN ELSE END DISTINCT ALL UNION INTERSECT EXCEPT WITH RECURSIVE OVER PARTITION ROWS RANGE ASC DESC NULLS FIRST LAST FILTER CAST INTERVAL TRUE FALSE VALUES LATERAL ANY".split(" ");
const RESERVED = new Set(`${USUAL.join(" ")} TABLE USER DEFAULT PRIMARY FOREIGN REFERENCES CHECK COLUMN CONSTRAINT INDEX KEY UNIQUE GRANT CREATE INSERT UPDATE SET TO INTO DO FOR WINDOW`.split(" "));
const NEVER = new Set("ALTER DROP DELETE TRUNCATE INSERT UPDATE CREATE GRANT REVOKE RAISE COMMIT ROLLBACK SAVEPOINT".split(" ")); // no query that only reads needs them
const MOST = 200; // proposals in the list
const FAR = 2000; // columns of all tables, before any is named

// → {from, options: [{label, detail, type, insert, caret}]} or undefined
export function propose(text, at, { schema = {}, functions = [], words = {}, quote = '"', foldsCase = false, isAsked = false } = {}) {
  const place = lookAround(text, at, schema);
  if (!place || (!place.typed && !place.owner.length && !isAsked)) return undefined;
  const typed = place.typed.replace(/^["`]/, "");
  const spell = (name) => quoted(name, quote, foldsCase);
  const groups = place.owner.length ? [behindDot(place, schema, spell)] : groupsAt(place, { schema, functions, words, spell });
  const options = ranked(groups, typed);
  const isDone = options.length === 1 && options[0].label === typed;
  return options.length && !isDone ? { from: place.from, options: options.slice(0, MOST) } : undefined;
}

function groupsAt(place, { schema, functions, words, spell }) {
  const keywords = keywordsIn(words);
  switch (place.expects) {
    case "name": return [];
    case "type": return [Object.keys(words).filter((word) => words[word] === "type").map((word) => ({ label: word.toUpperCase(), type: "type", whole: true }))];
    case "keyword": return [keywords];
    case "table": return [tablesAt(place, schema, spell), [{ label: "SELECT", type: "keyword", whole: true }]];
    default: return [columnsAt(place, schema, spell), tablesAt(place, schema, spell), functions.map(callOf), keywords];
  }
}

function columnsAt({ levels, chosen }, schema, spell) {
  const tables = levels.flat();
  const times = new Map();
  for (const { columns } of tables) for (const { name } of columns) times.set(name.toLowerCase(), (times.get(name.toLowerCase()) ?? 0) + 1);
  const own = chosen.filter(({ name }) => !times.has(name.toLowerCase())).map(({ name }) => ({ label: name, detail: "in this SELECT", type: "property", insert: spell(name) }));
  const seen = tables.flatMap((table) => table.columns.map(({ name, type }) => ({
    label: name, detail: [table.name, type].filter(Boolean).join(" · "), type: "property",
    insert: times.get(name.toLowerCase()) > 1 && table.name ? `${spell(table.name)}.${spell(name)}` : spell(name),
  })));
  return tables.length ? [...own, ...seen] : [...own, ...farColumns(schema, spell)];
}

// No table is named yet: every column there is, once, with the tables that have it.
function farColumns(schema, spell) {
  const owners = new Map();
  for (const [table, columns] of Object.entries(schema)) for (const { name } of columnList(columns)) owners.set(name, [...(owners.get(name) ?? []), table]);
  return [...owners].slice(0, FAR).map(([name, tables]) => ({ label: name, detail: tables.length > 2 ? `${tables.length} tables` : tables.join(", "), type: "property", insert: spell(name) }));
}

function tablesAt({ levels, made, expects }, schema, spell) {
  const isTable = expects === "table";
  const aliases = isTable ? [] : levels.flat().filter(({ name, path }) => name && name !== path.at(-1)).map(({ name, path }) => ({ label: name, detail: path.join("."), type: "variable", insert: spell(name) }));
  const own = made.map(({ name }) => ({ label: name, detail: "WITH", type: "class", insert: spell(name) }));
  return [...aliases, ...own, ...Object.keys(schema).map((name) => ({ label: name, type: "class", insert: name.split(".").map(spell).join(".") }))];
}

function behindDot({ owner, levels, made }, schema, spell) {
  const path = owner.join(".");
  const isSame = (name) => name?.toLowerCase() === path.toLowerCase();
  const columns = levels.flat().find(({ name }) => isSame(name))?.columns ?? made.find(({ name }) => isSame(name))?.columns ?? tableIn(schema, owner) ?? [];
  const tables = Object.keys(schema).filter((name) => name.toLowerCase().startsWith(`${path.toLowerCase()}.`)).map((name) => name.slice(path.length + 1));
  return [...columns.map(({ name, type }) => ({ label: name, detail: type, type: "property", insert: spell(name) })), ...tables.map((name) => ({ label: name, type: "class", insert: spell(name) }))];
}

const callOf = (name) => ({ label: name, detail: "()", type: "function", insert: `${name}()`, caret: -1, whole: true });

function keywordsIn(words) {
  const rest = Object.keys(words).filter((word) => words[word] !== "type").map((word) => word.toUpperCase()).filter((word) => !USUAL.includes(word) && !NEVER.has(word));
  return [...USUAL, ...rest].map((label) => ({ label, type: "keyword", whole: true }));
}

// 0: it begins so, 1: one of its words begins so, 2: it holds it somewhere; undefined: not at all
function fit({ label, whole }, typed) {
  const [name, part] = [label.toLowerCase(), typed.toLowerCase()];
  if (name.startsWith(part)) return 0;
  if (whole || part.length < 2) return undefined; // a keyword is known by its beginning
  const at = name.indexOf(part);
  return at < 0 ? undefined : /[_.\s]/.test(name[at - 1]) ? 1 : 2;
}

function ranked(groups, typed) {
  const fitting = groups.flatMap((group, order) => group.map((option) => ({ option, order, fit: fit(option, typed) }))).filter((one) => one.fit !== undefined);
  const taken = new Set();
  return fitting.sort((a, b) => (a.fit > 0) - (b.fit > 0) || a.order - b.order || a.fit - b.fit).map(({ option }) => option).filter(({ label, detail, type }) => {
    const key = `${type === "function" ? "f" : ""} ${label.toLowerCase()} ${type === "property" ? detail : ""}`;
    return !taken.has(key) && taken.add(key);
  });
}

export function quoted(name, quote, foldsCase) {
  const isPlain = (foldsCase ? /^[a-z_][a-z0-9_]*$/ : /^[A-Za-z_][A-Za-z0-9_]*$/).test(name);
  return isPlain && !RESERVED.has(name.toUpperCase()) ? name : quote + name.replaceAll(quote, quote + quote) + quote;
}
