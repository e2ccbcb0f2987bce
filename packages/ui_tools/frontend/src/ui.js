// What every page loads. Charts and the editor are fetched by the first page that shows one.
import "./parts/times.js";
import "./parts/tables.js";
import "./parts/copy.js";
import "./parts/dialogs.js";
import "./parts/filters.js";
import "./parts/split.js";
import "./parts/toasts.js";

const LATER = { "ui-chart": () => import("./chart.js"), "ui-sql": () => import("./editor.js") };

function load() {
  for (const [name, fetchIt] of Object.entries(LATER)) {
    if (!document.querySelector(name)) continue;
    delete LATER[name];
    fetchIt();
  }
}

load();
document.addEventListener("htmx:afterSettle", load);
