// <time data-local datetime="…Z"> shows the visitor's own time; the title keeps the UTC one.
const LOCAL = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" }); // 2026-11-15 13:00

for (const time of document.querySelectorAll("time[data-local]")) time.textContent = LOCAL.format(Date.parse(time.dateTime));
