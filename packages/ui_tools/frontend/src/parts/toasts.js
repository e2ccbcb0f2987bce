// <button data-toast="text" data-level="success">; the host shows what arrives as a "toast" event.
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-toast]");
  if (!button) return;
  const detail = { text: button.dataset.toast, level: button.dataset.level ?? "info" };
  document.dispatchEvent(new CustomEvent("toast", { detail }));
});
