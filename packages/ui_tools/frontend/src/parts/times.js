// <ui-time mode="relative|absolute|countdown"> around a <time>. The rules are those of filters.py: the server's words
// and the browser's are the same, so nothing jumps when this file arrives.
const UNITS = [[59.5 * 60, "min", 60], [23.5 * 3600, "h", 3600], [29.5 * 86400, "d", 86400], [364.5 * 86400, "mo", 30.44 * 86400]];
const YEAR = 365.25 * 86400;
const LOCAL = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" }); // 2026-11-15 13:00:00
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function relativeWords(seconds) {
  if (Math.abs(seconds) < 45) return seconds >= 0 ? "just now" : "in a moment";
  const age = Math.abs(seconds);
  const [, unit, size] = UNITS.find(([limit]) => age < limit) ?? [0, "y", YEAR];
  const amount = `${Math.max(1, Math.round(age / size))} ${unit}`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

// to the second within the last hour; further off, seconds would only look like the time of day
function countdownWords(seconds) {
  const left = Math.ceil(-seconds);
  if (left <= 0) return "now";
  return left < 3600 ? `in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : relativeWords(seconds);
}

const shown = new Set();
let timer;

class Time extends HTMLElement {
  connectedCallback() {
    this.time = this.querySelector("time");
    this.moment = Date.parse(this.time?.dateTime);
    if (Number.isNaN(this.moment)) return;
    this.time.title = `${this.time.dateTime.replace("T", " ").replace("Z", " UTC")}\n${LOCAL.format(this.moment)} ${ZONE}`;
    shown.add(this);
    this.update();
    timer ??= setInterval(() => { for (const element of shown) element.update(); }, 1000);
  }

  disconnectedCallback() {
    shown.delete(this);
    if (shown.size) return;
    clearInterval(timer);
    timer = undefined;
  }

  update() {
    const seconds = (Date.now() - this.moment) / 1000;
    const mode = this.getAttribute("mode");
    const text = mode === "absolute" ? LOCAL.format(this.moment) : mode === "countdown" ? countdownWords(seconds) : relativeWords(seconds);
    if (this.time.textContent !== text) this.time.textContent = text;
  }
}

customElements.define("ui-time", Time);
