// The upright axis of a chart: from where to where, and what its marks are called.
const FAR = 4; // a line that moves by less than a quarter of its distance to zero is shown close up

const room = (low, high, share) => [low - (high - low) * share, high + (high - low) * share];

export function range(kind, low, high) {
  if (low == null || (low === 0 && high === 0)) return [0, 1];
  const distance = low > 0 ? low : high < 0 ? -high : 0;
  if (kind === "line" && high > low && distance > FAR * (high - low)) return room(low, high, 0.15);
  return [Math.min(0, low) * 1.06, Math.max(0, high) * 1.06];
}

const LARGE = 1e15, SMALL = 1e-6; // beyond these an exponent is easier to read
const DIGITS = [3, 4, 5, 6, 8, 10, 12, 15];
const format = (value, maximumSignificantDigits) => {
  const size = Math.abs(value);
  const notation = size >= LARGE || (size && size < SMALL) ? "scientific" : "compact";
  return new Intl.NumberFormat("en", { notation, maximumSignificantDigits }).format(value);
};

// as few digits as tell the marks apart
export function names(marks) {
  for (const digits of DIGITS) {
    const texts = marks.map((mark) => (mark == null ? "" : format(mark, digits)));
    if (new Set(texts).size === texts.length || digits === DIGITS.at(-1)) return texts;
  }
}
