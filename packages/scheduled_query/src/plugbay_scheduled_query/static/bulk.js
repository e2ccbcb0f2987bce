// Which rows of the list are selected: kept while rows are refreshed, counted, all or a range at once.
const chosen = new Set();
const boxes = () => [...document.querySelectorAll("#queries input[name=ids]")];
let last; // the box that was clicked last: Shift and a click on another take all between them

function note({ checked, value }) {
  if (checked) chosen.add(value); else chosen.delete(value);
}

function show() {
  const all = boxes(), count = all.filter((box) => box.checked).length;
  const bar = document.getElementById("bulk"), head = document.querySelector("#queries thead [data-all]");
  if (!bar || !head) return;
  bar.classList.toggle("is-idle", !count);
  bar.querySelector("[data-selected]").textContent = count ? `${count} selected` : "";
  head.hidden = false;
  head.checked = count > 0 && count === all.length;
  head.indeterminate = count > 0 && count < all.length;
}

function select(list, isWanted) {
  for (const box of list) { box.checked = isWanted; note(box); }
  show();
}

function range(box) {
  const all = boxes(), [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
  select(from < 0 ? [box] : all.slice(from, to + 1), box.checked);
}

document.addEventListener("click", (event) => {
  const { target, shiftKey } = event;
  if (target.matches?.("#queries input[name=ids]")) {
    if (shiftKey && last) range(target); else { note(target); show(); }
    last = target;
  } else if (target.matches?.("[data-all]")) {
    if (target.localName === "a") event.preventDefault();
    select(boxes(), target.localName === "a" || target.checked);
  }
});
// rows come anew from the server, and with the way back from the browser
function restore() {
  for (const box of boxes()) box.checked = chosen.has(box.value);
  show();
}
document.addEventListener("htmx:afterSettle", restore);
addEventListener("pageshow", () => { boxes().forEach(note); show(); });
boxes().forEach(note);
show();
