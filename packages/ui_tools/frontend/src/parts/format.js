import * as formatter from "sql-formatter";

// sql-formatter exports each dialect under its name, beside its functions
function dialectOf(name) {
  const found = formatter[name?.toLowerCase()];
  return found?.tokenizerOptions ? found : formatter.sql;
}

export function formatSql(text, dialect) {
  return formatter.formatDialect(text, { dialect: dialectOf(dialect), keywordCase: "upper", tabWidth: 2, linesBetweenQueries: 1 });
}
