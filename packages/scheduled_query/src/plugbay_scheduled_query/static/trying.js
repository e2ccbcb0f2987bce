// Try it: what runs can be stopped, what is old looks old, and an error marks its place in the text.
const bar = document.getElementById("try-bar");
const state = document.getElementById("try-state");
const button = document.getElementById("try");
const editor = document.querySelector("ui-sql");
const isRunning = () => bar.classList.contains("htmx-request");
const RESULT_OF = ["query", "data_source"]; // the fields that a result depends on
let began, timer;

function stop() {
  if (!isRunning()) return;
  htmx.trigger(button, "htmx:abort"); // the server stops the query when nobody waits for it any more
  state.textContent = `Cancelled after ${seconds()}.`;
}

const seconds = () => `${Math.floor((performance.now() - began) / 1000)} s`;

button.addEventListener("htmx:beforeRequest", () => {
  began = performance.now();
  state.textContent = "Running …";
  timer = setInterval(() => { state.textContent = `Running for ${seconds()} …`; }, 1000);
});
for (const name of ["htmx:afterRequest", "htmx:sendAbort", "htmx:sendError"]) button.addEventListener(name, () => clearInterval(timer));
button.addEventListener("htmx:afterRequest", ({ detail }) => { if (detail.xhr.status) state.textContent = ""; }); // what was cancelled has none
document.getElementById("cancel-try").addEventListener("click", () => { stop(); button.focus(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || !isRunning()) return;
  event.preventDefault();
  stop();
});

document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  if (target.id !== "tried") return;
  const { place } = document.getElementById("tried").dataset;
  if (place) editor.setAttribute("mark", place); else editor.removeAttribute("mark");
});

button.form.addEventListener("input", ({ target }) => {
  const tried = document.getElementById("tried");
  if (RESULT_OF.includes(target.name) && tried.dataset.columns) tried.classList.add("is-stale");
});
// a link to a field leads into it
document.addEventListener("click", (event) => {
  const field = event.target.closest?.("#tried a[href^='#f-']");
  if (!field) return;
  event.preventDefault();
  document.querySelector(field.getAttribute("href")).focus();
});
