// A filter bar applies itself: at once when a choice or a date changes, a search when it is left, cleared or picked from a list.
// A bar that htmx loads follows what is typed; its page says how.
const barOf = (field) => (field.form?.matches("form.ui-filters") ? field.form : undefined);
const isPlainSearch = (field) => field.type === "search" && barOf(field) && !field.form.hasAttribute("hx-get");

document.addEventListener("change", ({ target }) => {
  if (!barOf(target) || (target.type === "search" && (!isPlainSearch(target) || target.value === target.defaultValue))) return;
  target.form.requestSubmit();
});
// a pick from a list is no typing; the cross of a search field empties it
document.addEventListener("input", ({ target, inputType }) => {
  if (isPlainSearch(target) && (!inputType || inputType === "insertReplacementText")) target.form.requestSubmit();
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
