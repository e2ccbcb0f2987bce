import { duckdb, formatDialect, mysql, postgresql, sql, sqlite } from "sql-formatter";

const DIALECTS = { duckdb, mariadb: mysql, mysql, postgresql, sqlite };

export function formatSql(text, dialect) {
  return formatDialect(text, { dialect: DIALECTS[dialect] ?? sql, keywordCase: "upper", tabWidth: 2, linesBetweenQueries: 1 });
}
