// Parts of a page that keep up by themselves. A refresh replaces only what has news: scroll positions, sorting and
// focus stay, and whoever is in the midst of something is left alone. All pages work without this file.
const SCROLLED = ".ui-table-scroll, .ui-raw pre";
const FOCUSABLE = "a, button, input, select, summary, [tabindex]";
const LATER = ":popover-open, input:not([type=checkbox]):focus, select:focus"; // what must not vanish under somebody's hands
const all = (root, selector) => [...root.querySelectorAll(selector)];

// Nothing is fetched while nobody looks, under an open menu or dialog, or while text is being selected.
document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, requestConfig } = event.detail;
  if (!elt.hasAttribute("data-live") || requestConfig.triggeringEvent) return;
  if (document.hidden || document.querySelector("dialog[open]") || all(document, "[data-live], [data-part]").some(isInUse)) event.preventDefault();
});
document.addEventListener("htmx:configRequest", ({ detail: { elt, headers } }) => { if (elt.dataset.seen) headers["X-Seen"] = elt.dataset.seen; });

function isInUse(part) {
  const chosen = getSelection();
  return part.querySelector(LATER) || (!chosen.isCollapsed && part.contains(chosen.anchorNode));
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, shouldSwap, xhr } = event.detail;
  if (requestConfig.elt.id !== "live" || !shouldSwap) return;
  event.detail.shouldSwap = false;
  for (const fresh of [...new DOMParser().parseFromString(xhr.responseText, "text/html").body.children]) {
    const old = document.getElementById(fresh.id);
    if (old) old.dataset.part ? renew(old, fresh) : update(old, fresh);
  }
});

function update(old, fresh) {
  const [parts, news] = [all(old, "[data-part]"), all(fresh, "[data-part]")];
  const isAlike = parts.length === news.length && parts.every(({ id }, i) => id === news[i].id);
  if (!isAlike || old.getAttribute("hx-trigger") !== fresh.getAttribute("hx-trigger")) return replace(old, fresh);
  parts.forEach((part, i) => renew(part, news[i]));
  old.dataset.seen = fresh.dataset.seen;
}

function renew(old, fresh) {
  if (old.dataset.part === fresh.dataset.part || old.hasAttribute("data-touched")) return;
  if (old.localName !== "ui-chart") return replace(old, fresh);
  for (const { name, value } of fresh.attributes) old.setAttribute(name, value);
}

function replace(old, fresh) {
  const places = all(old, SCROLLED).map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]);
  const orders = all(old, "ui-table").map(({ order }) => order);
  const focused = old.contains(document.activeElement) && document.activeElement;
  const nth = all(old, FOCUSABLE).indexOf(focused);
  old.replaceWith(fresh);
  htmx.process(fresh);
  all(fresh, "ui-table").forEach((table, i) => { table.order = orders[i]; });
  all(fresh, SCROLLED).forEach((part, i) => { if (places[i]) part.scrollTo(...places[i]); });
  if (focused) (document.getElementById(focused.id) ?? (fresh.dataset.part && all(fresh, FOCUSABLE)[nth]))?.focus({ preventScroll: true });
  htmx.trigger(fresh, "htmx:afterSettle");
}

// A history in which somebody is choosing what to compare, or filling in the filter, stays as it is.
document.addEventListener("input", ({ target }) => target.closest("#history")?.setAttribute("data-touched", ""));
// A refresh that fails says nothing: the next one will do; what somebody pressed speaks up.
for (const name of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(name, (event) => {
    const { elt, xhr } = event.detail;
    if (elt.hasAttribute("data-live") && xhr.status !== 401) event.stopImmediatePropagation(); // 401: the session ended, and the page leads to the login
  }, { capture: true });
}

setInterval(() => {
  for (const part of document.querySelectorAll(".sq-running[data-since]")) {
    const seconds = Math.max(0, (Date.now() - Date.parse(part.dataset.since)) / 1000);
    if (Number.isNaN(seconds)) continue;
    part.querySelector("progress").value = Math.min(seconds, Number(part.dataset.limit));
    part.querySelector(".sq-elapsed").textContent = `${Math.floor(seconds)} s`;
  }
}, 1000);
