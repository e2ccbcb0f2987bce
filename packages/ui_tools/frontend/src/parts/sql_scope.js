// What an SQL text that is being written says about one place in it: which tables can be seen from there, and what may stand there.
// Nothing here refuses a text: whatever is unfinished or unknown is passed over.
const PIECES = /(?<space>\s+)|(?<comment>--[^\n]*|\/\*[^]*?(?:\*\/|$))|(?<string>'(?:[^']|'')*(?:'|$)|\$(?<tag>\w*)\$[^]*?(?:\$\k<tag>\$|$))|(?<name>"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$))|(?<number>\d[\w.]*)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<mark>[(),.;])|(?<other>[^])/gu;
const ENDS_FROM = new Set("WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH WINDOW QUALIFY SELECT FOR".split(" "));
const ENDS_SELECT = new Set([...ENDS_FROM, "FROM", "INTO"].filter((word) => word !== "SELECT"));
const COMBINES = new Set(["UNION", "INTERSECT", "EXCEPT", "MINUS"]);
const NO_ALIAS = new Set([...ENDS_FROM, ...COMBINES, ..."FROM JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL ASOF SEMI ANTI STRAIGHT_JOIN ON USING AS SET TABLESAMPLE USE FORCE IGNORE LATERAL ONLY".split(" ")]);
const ENDS_EXPRESSION = new Set(["END", "NULL", "TRUE", "FALSE"]);
const NO_NAME = new Set("SELECT DISTINCT ALL AND OR NOT IN IS LIKE BETWEEN CASE WHEN THEN ELSE".split(" "));
const DEPTH = 8; // subqueries within subqueries whose columns are looked for

export function tokens(text) {
  const found = [];
  for (const { 0: piece, index, groups } of text.matchAll(PIECES)) {
    if (groups.space !== undefined) continue;
    const kind = ["comment", "string", "name", "number", "word", "mark"].find((name) => groups[name] !== undefined) ?? "other";
    found.push({ kind, text: piece, from: index, to: index + piece.length });
  }
  return found;
}

const wordOf = (item) => (item?.kind === "word" ? item.text.toUpperCase() : "");
const isMark = (item, mark) => item?.kind === "mark" && item.text === mark;
const isName = (item) => item?.kind === "word" || item?.kind === "name";
const plain = ({ kind, text }) => (kind === "name" ? text.slice(1, text.length > 1 && text.at(-1) === text[0] ? -1 : undefined).replaceAll(text[0] + text[0], text[0]) : text);
const same = (a, b) => a.toLowerCase() === b.toLowerCase();

// Brackets as groups of items, so that a subquery is one item of the query around it.
function nested(found) {
  const root = { kind: "group", from: 0, to: Infinity, items: [] };
  const open = [root];
  for (const token of found) {
    if (isMark(token, "(")) {
      const group = { kind: "group", from: token.to, to: Infinity, items: [] };
      open.at(-1).items.push(group);
      open.push(group);
    } else if (isMark(token, ")") && open.length > 1) open.pop().to = token.from;
    else open.at(-1).items.push(token);
  }
  return root;
}

const isQuery = ({ items }) => ["SELECT", "WITH", "VALUES", "FROM"].includes(wordOf(items[0]));

// WITH a (x) AS (…), b AS (…) and the selects behind it, apart by UNION and its like.
function readQuery(items) {
  const tables = [];
  let at = 0;
  if (wordOf(items[0]) === "WITH") {
    at = wordOf(items[1]) === "RECURSIVE" ? 2 : 1;
    while (isName(items[at])) {
      const table = { name: plain(items[at]), names: [] };
      at += 1;
      if (items[at]?.kind === "group") table.names = items[at++].items.filter(isName).map(plain);
      while (["AS", "NOT", "MATERIALIZED"].includes(wordOf(items[at]))) at += 1;
      if (items[at]?.kind !== "group") break;
      table.body = items[at++];
      tables.push(table);
      if (!isMark(items[at], ",")) break;
      at += 1;
    }
  }
  return { tables, selects: apart(items.slice(at), (item) => COMBINES.has(wordOf(item)) || isMark(item, ";")) };
}

function apart(items, isBorder) {
  const parts = [[]];
  for (const item of items) if (isBorder(item)) parts.push([]); else parts.at(-1).push(item);
  return parts;
}

const isClause = (items, at) => wordOf(items[at]) === "FROM" && wordOf(items[at - 1]) !== "DISTINCT"; // IS DISTINCT FROM compares
const isJoin = (item) => ["JOIN", "STRAIGHT_JOIN"].includes(wordOf(item));

// The tables behind FROM and JOIN, each with the name it goes by and, for a subquery, its body.
function readFrom(items) {
  const found = [];
  let isFrom = false;
  for (let at = 0; at < items.length; at += 1) {
    if (ENDS_FROM.has(wordOf(items[at]))) isFrom = false;
    const begins = isClause(items, at) || isJoin(items[at]) || (isFrom && isMark(items[at], ","));
    if (!begins) continue;
    isFrom = true;
    const table = readTable(items, at + 1);
    if (table) found.push(table);
  }
  return found;
}

function readTable(items, at) {
  while (["LATERAL", "ONLY"].includes(wordOf(items[at]))) at += 1;
  const path = [], table = { names: [] };
  if (items[at]?.kind === "group") table.body = items[at++];
  else {
    while (isName(items[at]) && !NO_ALIAS.has(wordOf(items[at]))) {
      path.push(plain(items[at++]));
      if (!isMark(items[at], ".")) break;
      at += 1;
    }
    if (items[at]?.kind === "group") { table.isCall = true; at += 1; }
  }
  if (wordOf(items[at]) === "AS") at += 1;
  if (isName(items[at]) && !NO_ALIAS.has(wordOf(items[at]))) table.alias = plain(items[at++]);
  if (table.alias && items[at]?.kind === "group") table.names = items[at].items.filter(isName).map(plain);
  if (!path.length && !table.body) return undefined;
  return { ...table, path, name: table.alias ?? path.at(-1) ?? "" };
}

// The columns that a query brings, by the names that its author gave them.
function broughtBy(group, seen, schema, depth) {
  if (depth > DEPTH) return [];
  const { tables, selects } = readQuery(group.items);
  const known = [...tables, ...seen];
  const [first = []] = selects;
  return namedIn(first, readFrom(first), known, schema, depth);
}

function namedIn(select, from, known, schema, depth = 0) {
  const start = select.findIndex((item) => wordOf(item) === "SELECT") + 1;
  const end = select.findIndex((item, at) => at >= start && ENDS_SELECT.has(wordOf(item)));
  const columns = apart(select.slice(start, end < 0 ? undefined : end), (item) => isMark(item, ","));
  return columns.flatMap((column) => {
    const last = column.at(-1);
    if (last?.text === "*") {
      const owner = isMark(column.at(-2), ".") && isName(column.at(-3)) ? plain(column.at(-3)) : undefined;
      return from.filter(({ name }) => !owner || same(name, owner)).flatMap((table) => columnsOf(table, known, schema, depth + 1));
    }
    if (!isName(last) || ENDS_EXPRESSION.has(wordOf(last)) || NO_NAME.has(wordOf(last))) return [];
    return [{ name: plain(last), type: "" }];
  });
}

export function tableIn(schema, path) {
  const wanted = path.join(".");
  const entries = Object.entries(schema);
  const [, columns] = entries.find(([name]) => same(name, wanted))
    ?? entries.find(([name]) => same(name.split(".").at(-1), path.at(-1)) && (path.length === 1 || same(name, wanted)))
    ?? (path.length > 1 ? entries.find(([name]) => same(name, path.at(-1))) : undefined) ?? [];
  return columns && columnList(columns);
}

// {"id": "INTEGER"} or ["id"]
export function columnList(columns) {
  return Array.isArray(columns) ? columns.map((name) => ({ name, type: "" })) : Object.entries(columns).map(([name, type]) => ({ name, type }));
}

function columnsOf(table, known, schema, depth = 0) {
  if (table.names.length) return table.names.map((name) => ({ name, type: "" }));
  if (table.body) return broughtBy(table.body, known, schema, depth);
  if (table.isCall) return [];
  const own = table.path.length === 1 && known.find(({ name }) => same(name, table.path[0]));
  if (own) return own.names.length ? own.names.map((name) => ({ name, type: "" })) : broughtBy(own.body, known.filter((one) => one !== own), schema, depth + 1);
  return tableIn(schema, table.path) ?? [];
}

const holds = (group, at) => group.from <= at && at <= group.to;

// From the whole text to the innermost brackets around a place.
function around(root, at) {
  const found = [root];
  for (let inner = root; inner; ) {
    inner = inner.items.find((item) => item.kind === "group" && holds(item, at));
    if (inner) found.push(inner);
  }
  return found;
}

// The select that a place is in, of those that UNION and its like put together.
function selectAt({ items }, at) {
  const { tables, selects } = readQuery(items);
  const begun = selects.filter((select) => select.length && select[0].from <= at);
  return { tables: tables.filter(({ body }) => !holds(body, at)), select: begun.at(-1) ?? [] };
}

// What may stand at the end of these items: a table, only a keyword, a name that its author chooses, a type, or an expression.
function expected(items, isInQuery, caller) {
  const last = items.at(-1);
  if (!last) return isInQuery ? "keyword" : "expression";
  if (wordOf(last) === "AS") return ["CAST", "TRY_CAST"].includes(caller) ? "type" : "name";
  if (isMark(last, ";") || COMBINES.has(wordOf(last))) return "keyword";
  if (!isInQuery) return "expression";
  const began = items.findLastIndex((item, at) => isClause(items, at) || isJoin(item));
  if (began < 0 || items.slice(began).some((item) => ENDS_FROM.has(wordOf(item)))) return "expression";
  const table = items.slice(Math.max(began, items.findLastIndex((item) => isMark(item, ","))) + 1);
  if (!table.length || ["LATERAL", "ONLY"].includes(wordOf(table.at(-1)))) return "table";
  return table.some((item) => ["ON", "USING"].includes(wordOf(item))) ? "expression" : "keyword";
}

// What is known about a place: undefined within a text or a comment.
export function lookAround(text, at, schema = {}) {
  const all = tokens(text);
  const here = all.find(({ from, to }) => from < at && at <= to);
  if (here && isShut(here, at)) return undefined;
  const typed = here && isName(here) ? text.slice(here.from, at) : "";
  const start = at - typed.length;
  const found = all.filter(({ kind }) => kind !== "comment");
  const groups = around(nested(found), start);
  const levels = groups.filter((group, i) => !i || isQuery(group)).reverse().map((group) => selectAt(group, start));
  const known = levels.flatMap(({ tables }) => tables);
  const withColumns = (table) => ({ name: table.name, path: table.path, columns: columnsOf(table, known, schema) });
  const seen = levels.map(({ select }) => readFrom(select).map(withColumns));
  // a bracket that is still open hides FROM: better any table of the text than none
  if (!seen.flat().length) seen.push(readFrom(found).map(withColumns));
  const innermost = groups.at(-1);
  const before = innermost.items.filter(({ from, to, kind }) => (kind === "group" ? to < start : to <= start && from < start));
  return {
    typed, from: start, levels: seen, made: known.map((one) => ({ name: one.name, columns: columnsOf({ path: [one.name], names: [] }, known, schema) })),
    owner: ownerOf(found.filter(({ to }) => to <= start)),
    chosen: chosenIn(levels[0].select, start, known, schema),
    expects: expected(before, groups.length === 1 || isQuery(innermost), callerOf(groups, found)),
  };
}

function isShut({ kind, text, to }, at) {
  if (kind === "comment") return text.startsWith("--") || at < to || !text.endsWith("*/");
  return kind === "string" && (at < to || text.length === 1 || text.at(-1) !== text[0]);
}

// `a.b.` before the place, as ["a", "b"]
function ownerOf(before) {
  const path = [];
  for (let at = before.length - 1; isMark(before[at], ".") && isName(before[at - 1]); at -= 2) path.unshift(plain(before[at - 1]));
  return path;
}

function callerOf(groups, found) {
  const bracket = groups.length > 1 ? found.findIndex((token) => isMark(token, "(") && token.to === groups.at(-1).from) : -1;
  return wordOf(found[bracket - 1]);
}

// GROUP BY, ORDER BY and HAVING see the names that the select list gives.
function chosenIn(select, at, known, schema) {
  const isBehind = select.some((item) => item.to <= at && ["GROUP", "ORDER", "HAVING", "QUALIFY"].includes(wordOf(item)));
  return isBehind ? namedIn(select, readFrom(select), known, schema) : [];
}
