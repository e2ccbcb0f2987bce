// <button data-copy="#id"> copies what that field holds.
document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  const field = button && document.querySelector(button.dataset.copy);
  if (!field) return;
  field.select();
  const done = await navigator.clipboard?.writeText(field.value).then(() => true, () => false);
  button.textContent = done || document.execCommand("copy") ? "Copied" : "Press Ctrl+C"; // no clipboard without https
});
