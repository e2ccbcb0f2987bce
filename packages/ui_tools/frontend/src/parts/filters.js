// A filter bar applies itself when a choice or a date changes; the search waits for Enter, as it does without this file.
document.addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("form.ui-filters") || target.type === "search") return;
  form.requestSubmit();
});

const isoDay = (date) => date.toISOString().slice(0, 10);

// <button data-days="7" data-from="date_from" data-to="date_to">: the last seven days, today included (days are UTC)
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("form.ui-filters [data-days]");
  if (!button) return;
  const { elements } = button.form;
  elements[button.dataset.from].value = isoDay(new Date(Date.now() - (Number(button.dataset.days) - 1) * 86400_000));
  elements[button.dataset.to].value = isoDay(new Date());
  button.form.requestSubmit();
});
