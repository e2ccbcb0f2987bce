// Beside a number stands a box for "no limit": who types a number means the number.
document.addEventListener("input", ({ target }) => {
  const row = target.type === "text" && target.value && target.closest?.(".settings-number");
  if (row) for (const box of row.querySelectorAll("[type=checkbox]")) box.checked = false;
});
