// Keys, filters that follow, and the editor's comforts. All pages work without this file.
const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable=true]");
const keys = document.getElementById("keys");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const press = { "/": search, n: create, r: run, e: edit, "?": () => keys?.showModal() }[event.key];
  if (press?.() !== undefined || event.key === "?") event.preventDefault();
});

function search() {
  const field = document.querySelector("main input[type=search]");
  if (!field) return keys && go(keys.dataset.list);
  field.focus();
  field.select();
  return true;
}
const create = () => keys?.dataset.new && go(keys.dataset.new);
const run = () => document.getElementById("run")?.click() ?? (document.getElementById("run") ? true : undefined);
const edit = () => document.getElementById("edit") && go(document.getElementById("edit").href);
const go = (href) => { location.assign(href); return true; };

// What is loaded into the dialog is a question.
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => { if (target.id === "confirm") target.showModal(); });
// Addresses carry only what was chosen.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (!detail.elt.matches("form.ui-filters")) return;
  for (const [name, value] of [...detail.formData.entries()]) if (value === "" || value === "all") detail.formData.delete(name);
});
document.addEventListener("submit", ({ target }) => {
  if (!target.matches("form.ui-filters") || target.hasAttribute("hx-get")) return;
  for (const field of target.elements) if (field.name && (field.value === "" || field.value === "all")) field.disabled = true;
});
// The list follows the search as it is typed.
let typing;
document.addEventListener("input", ({ target }) => {
  if (!target.matches(".js-live form.ui-filters input[type=search]")) return;
  clearTimeout(typing);
  typing = setTimeout(() => target.form.requestSubmit(), 300);
});

const form = document.querySelector("form[data-unsaved]");
if (form) {
  let isTouched = form.hasAttribute("data-touched");
  form.addEventListener("input", ({ target }) => { if (target.name) isTouched = true; });
  let isSent = false; // a second click must not make a second query
  form.addEventListener("submit", (event) => {
    if (event.submitter?.hasAttribute("hx-post")) return;
    if (isSent) event.preventDefault();
    isSent = true;
    isTouched = false;
  });
  addEventListener("pageshow", () => { isSent = false; });
  form.addEventListener("discard", () => { isTouched = false; });
  // the session ended: what was typed is kept (drafts.js), so nothing holds the way to the login
  document.addEventListener("htmx:beforeOnLoad", ({ detail }) => { if (detail.xhr.status === 401) isTouched = false; });
  form.querySelector("[data-leave]")?.addEventListener("click", () => { isTouched = false; });
  addEventListener("beforeunload", (event) => { if (isTouched) event.preventDefault(); });
  form.querySelector("[data-fill]")?.addEventListener("change", ({ target }) => {
    const field = target.value && form.querySelector(target.dataset.fill);
    if (!field) return;
    field.value = target.value;
    target.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  form.querySelector(".is-invalid:not(textarea[hidden])")?.focus();
}

// The columns of the result that is known: a click puts one among the label columns, or takes it away.
const listed = (field) => field.value.split(",").map((name) => name.trim()).filter(Boolean);
function showChosen() {
  for (const button of document.querySelectorAll("[data-into]")) {
    const field = document.querySelector(button.dataset.into);
    button.setAttribute("aria-pressed", String(listed(field).includes(button.dataset.column)));
  }
}
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-into]");
  if (!button) return;
  const field = document.querySelector(button.dataset.into), { column } = button.dataset, names = listed(field);
  field.value = (names.includes(column) ? names.filter((name) => name !== column) : [...names, column]).join(", ");
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
if (form) {
  form.addEventListener("input", showChosen);
  document.addEventListener("htmx:afterSettle", showChosen);
  document.addEventListener("htmx:oobAfterSwap", showChosen);
  showChosen();
}

// Whoever is on another page has saved what was typed into the editor, or has left it: then it waits for the way back (drafts.js).
function setDraftsAside() {
  const sent = sessionStorage.getItem("sent draft");
  for (const name of Object.keys(sessionStorage)) {
    if (!name.startsWith("draft ")) continue;
    if (name !== sent) sessionStorage.setItem(`left ${name}`, sessionStorage.getItem(name));
    sessionStorage.removeItem(name);
  }
  sessionStorage.removeItem("sent draft");
}
try { if (!form) setDraftsAside(); } catch { /* storage may be forbidden */ }

// Two columns of the same times are one.
function joinTimes() {
  const local = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });
  for (const table of document.querySelectorAll(".sq-runs:not(.is-joined)")) {
    const isSame = ([there, here]) => there.textContent.trim().endsWith(local.format(Date.parse(here.querySelector("time")?.dateTime)));
    if (![...table.tBodies[0].rows].every((row) => isSame(row.cells))) continue;
    table.classList.add("is-joined");
    table.tHead.rows[0].cells[0].append(", your time");
  }
}
joinTimes();
document.addEventListener("htmx:afterSettle", joinTimes);

document.querySelector("[data-fullscreen]")?.addEventListener("click", () => {
  if (document.fullscreenElement) document.exitFullscreen(); else document.documentElement.requestFullscreen();
});
