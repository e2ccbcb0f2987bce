// classic script, loaded blocking in <head>: a dark page never flashes white, and nothing moves when app.js arrives
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function saved() {
  try { return localStorage.getItem("theme"); } catch { return null; } // storage may be forbidden
}

function apply() {
  root.dataset.bsTheme = saved() ?? (system.matches ? "dark" : "light");
  document.dispatchEvent(new Event("themechange"));
}

root.classList.add("js");
apply();
system.addEventListener("change", apply);
addEventListener("storage", apply); // another tab was switched

document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-theme-toggle]")) return;
  const wanted = root.dataset.bsTheme === "dark" ? "light" : "dark";
  try {
    // who returns to what the system says follows the system again
    if ((wanted === "dark") === system.matches) localStorage.removeItem("theme");
    else localStorage.setItem("theme", wanted);
  } catch { /* the choice lasts for this page */ }
  root.dataset.bsTheme = wanted;
  document.dispatchEvent(new Event("themechange"));
});
