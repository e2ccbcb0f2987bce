// Where the rows of a table stand along the axis of a chart: by time, by number, or one beside the other.
const MOMENT = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;
const GROUP = 0.8; // of the room of one row, for all its bars

// as it is written: what has no zone is shown as it stands
export function secondsOf(text) {
  if (typeof text !== "string" || !MOMENT.test(text)) return undefined;
  const iso = text.length > 10 && !/(Z|[+-]\d\d:?\d\d)$/.test(text.slice(10)) ? `${text.replace(" ", "T")}Z` : text.replace(" ", "T");
  const at = Date.parse(iso) / 1000;
  return Number.isNaN(at) ? undefined : at;
}

// → {scale: "time"|"number"|"names", at: [positions], order: [row numbers], labels}
export function place(x, kind) {
  const rows = x.map((_, row) => row);
  const moments = x.map(secondsOf);
  const sorted = (at) => ({ at: rows.toSorted((a, b) => at[a] - at[b]).map((row) => at[row]), order: rows.toSorted((a, b) => at[a] - at[b]) });
  if (kind === "line" && x.length && moments.every((at) => at !== undefined)) return { scale: "time", ...sorted(moments) };
  if (kind === "line" && x.length && x.every((value) => typeof value === "number")) return { scale: "number", ...sorted(x) };
  return { scale: "names", at: rows, order: rows, labels: x.map(String) };
}

// The bars of several series stand beside each other: each has places of its own along the axis.
export function beside(values) {
  const width = GROUP / values.length;
  const at = [], columns = values.map(() => []);
  for (let row = 0; row < (values[0]?.length ?? 0); row += 1) {
    values.forEach((own, i) => {
      at.push(row + (i - (values.length - 1) / 2) * width);
      columns.forEach((column, j) => column.push(i === j ? own[row] : null));
    });
  }
  return [at, ...columns];
}
