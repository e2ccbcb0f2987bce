import { MySQL, PostgreSQL, SQLDialect, SQLite, StandardSQL } from "@codemirror/lang-sql";

// DuckDB speaks PostgreSQL's SQL with some words of its own
const DuckDB = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${PostgreSQL.spec.keywords} anti asof exclude glob ilike list macro map pivot positional qualify sample semi struct summarize unpivot`,
  types: `${PostgreSQL.spec.types} blob hugeint ubigint uinteger usmallint utinyint uhugeint tinyint struct map list union`,
});
const DIALECTS = { duckdb: DuckDB, mariadb: MySQL, mysql: MySQL, postgresql: PostgreSQL, sqlite: SQLite };

export const dialectOf = (name) => DIALECTS[name] ?? StandardSQL;
