// A filter bar applies itself when a choice or a date changes; the search waits for Enter, as it does without this file.
document.addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("form.ui-filters") || target.type === "search") return;
  form.requestSubmit();
});

// Times on a page are the reader's, and so are the days of its filters: the address says whose.
document.addEventListener("submit", ({ target }) => {
  const zone = target.querySelector?.("[data-zone]");
  if (!zone) return;
  const isDated = zone.dataset.zone.split(" ").some((name) => target.elements[name]?.value);
  zone.value = isDated ? Intl.DateTimeFormat().resolvedOptions().timeZone : "";
}, { capture: true });

const DAY = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short" }); // 2026-11-15
const isoDay = (date) => DAY.format(date);

// <button data-days="7" data-from="date_from" data-to="date_to">: the last seven days, today included
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("form.ui-filters [data-days]");
  if (!button) return;
  const { elements } = button.form;
  elements[button.dataset.from].value = isoDay(new Date(Date.now() - (Number(button.dataset.days) - 1) * 86400_000));
  elements[button.dataset.to].value = isoDay(new Date());
  button.form.requestSubmit();
});
