// The form of a board: cards follow the mouse and show their size at once. The buttons do the same without this file.
const form = document.getElementById("board-form");
const order = () => form.elements.order;
const cards = () => [...form.querySelectorAll(".sq-board-form > li")];

function note() {
  order().value = cards().map(({ dataset }) => dataset.key).join(",");
  order().dispatchEvent(new Event("input", { bubbles: true })); // it is not saved yet
}

form.addEventListener("change", ({ target }) => {
  const [, side, key] = target.name?.match(/^(width|height)-(\d+)$/) ?? [];
  const card = side && cards().find(({ dataset }) => dataset.key === key);
  if (!card) return;
  const letter = side[0];
  card.className = card.className.replace(new RegExp(`sq-${letter}-\\d`), `sq-${letter}-${target.value}`);
});

// Enter saves, or finds where one searches; without this file it only finds, so that nothing is stored by chance.
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.localName !== "input") return;
  event.preventDefault();
  form.querySelector(event.target.type === "search" ? ".sq-add-search button" : "[data-save]").click();
});

// Only the grip drags: in the rest of a card one selects text.
let dragged;
form.addEventListener("pointerdown", ({ target }) => {
  const card = target.closest(".sq-grip")?.closest("li");
  if (card) card.draggable = true;
});
form.addEventListener("pointerup", () => cards().forEach((card) => { card.draggable = false; }));
form.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.("li[draggable=true]");
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.dataset.key);
  dragged.classList.add("is-dragged");
});
form.addEventListener("dragover", (event) => {
  if (!dragged) return;
  event.preventDefault();
  const over = event.target.closest(".sq-board-form > li");
  if (!over || over === dragged) return;
  const all = cards();
  over[all.indexOf(dragged) < all.indexOf(over) ? "after" : "before"](dragged);
});
form.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
form.addEventListener("dragend", () => {
  if (!dragged) return;
  dragged.classList.remove("is-dragged");
  dragged.draggable = false;
  dragged = undefined;
  note();
});
document.addEventListener("htmx:afterSwap", ({ detail }) => { if (detail.requestConfig?.elt?.name === "act") note(); });
