// What somebody types into the editor is kept in this tab until it is saved: neither a session that ends nor the way back loses it.
const form = document.querySelector("form[data-draft]");
const key = `draft ${form.dataset.draft} ${new URL(form.action).pathname}`; // scheduled_query.js sets it aside on any other page
const typed = () => JSON.stringify([...new FormData(form)].filter(([name]) => name !== "csrf_token"));

function stored() {
  try { return sessionStorage; } catch { return undefined; } // storage may be forbidden
}

function keep() {
  try { stored()?.setItem(key, typed()); } catch { /* it is full */ }
}

function restore(text) {
  const fields = JSON.parse(text);
  for (const field of form.elements) {
    if (!field.name || field.name === "csrf_token") continue;
    const values = fields.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.type === "radio") field.checked = values.includes(field.value);
    else if (field.type === "checkbox") field.checked = values.length > 0;
    else if (values.length) field.value = values[0];
  }
  for (const field of form.elements) if (field.name) field.dispatchEvent(new Event(field.localName === "textarea" ? "change" : "input", { bubbles: true }));
  form.querySelector("[data-restored]").hidden = false;
}

// what was left comes back with the browser's own way back, not with a new visit
const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
const kept = stored()?.getItem(key) ?? (isBack ? stored()?.getItem(`left ${key}`) : undefined);
for (const name of [`left ${key}`, "sent draft"]) stored()?.removeItem(name);
if (form.hasAttribute("data-touched")) keep(); // the server gave back what was typed
else if (kept && kept !== typed()) document.addEventListener("DOMContentLoaded", () => restore(kept)); // htmx listens from then on
let timer;
const keepNow = () => { timer = clearTimeout(timer); keep(); };
const soon = () => { clearTimeout(timer); timer = setTimeout(keepNow, 300); };
addEventListener("pagehide", () => { if (timer) keepNow(); }); // who leaves at once loses nothing
for (const name of ["input", "change"]) form.addEventListener(name, ({ target }) => { if (target.name) soon(); });
form.addEventListener("submit", ({ submitter }) => {
  keep();
  if (!submitter?.hasAttribute("hx-post")) stored()?.setItem("sent draft", key);
});
document.addEventListener("htmx:beforeOnLoad", ({ detail }) => { if (detail.xhr.status === 401) keep(); });
form.querySelector("[data-discard]").addEventListener("click", () => {
  timer = clearTimeout(timer);
  stored()?.removeItem(key);
  form.dispatchEvent(new Event("discard"));
  location.assign(form.action);
});
