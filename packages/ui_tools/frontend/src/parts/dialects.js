import * as language from "@codemirror/lang-sql";

const { MySQL, PostgreSQL, SQLDialect, StandardSQL } = language;

// DuckDB speaks PostgreSQL's SQL with some words of its own
const DuckDB = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${PostgreSQL.spec.keywords} anti asof exclude glob ilike list macro map pivot positional qualify sample semi struct summarize unpivot`,
  types: `${PostgreSQL.spec.types} blob hugeint ubigint uinteger usmallint utinyint uhugeint tinyint struct map list union`,
});
// what CodeMirror brings needs no line here
const standard = Object.entries(language).filter(([, value]) => value instanceof SQLDialect).map(([name, dialect]) => [name.toLowerCase(), dialect]);
const DIALECTS = new Map([...standard, ["duckdb", DuckDB], ["mariadb", MySQL]]);

// The page names a dialect and may say which signs quote a name in it.
export function dialectOf(name, quotes) {
  const dialect = DIALECTS.get(name?.toLowerCase()) ?? StandardSQL;
  return quotes ? SQLDialect.define({ ...dialect.spec, identifierQuotes: quotes }) : dialect;
}

// {"select": "keyword", "integer": "type", …}: CodeMirror tells the two apart by a number
export function kindsOfWords({ dialect: { words } }) {
  const type = StandardSQL.dialect.words.integer;
  return Object.fromEntries(Object.entries(words).map(([word, kind]) => [word, kind === type ? "type" : "keyword"]));
}
