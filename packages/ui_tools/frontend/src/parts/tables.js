// <ui-table sortable> around a <table>: its column heads become buttons. A third click restores the server's order.
const compareWords = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;
// a Number would round what is beyond 2^53; the two kinds compare exactly with each other
const numberOf = (text) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text));
const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

function compareNumbers(a, b) {
  const [left, right] = [numberOf(a), numberOf(b)];
  return (left > right) - (left < right);
}

class Table extends HTMLElement {
  connectedCallback() {
    this.body = this.querySelector("tbody");
    if (!this.body || !this.hasAttribute("sortable") || this.rows) return;
    this.rows = [...this.body.rows];
    for (const head of this.querySelectorAll("thead th:not([data-unsorted])")) this.makeButton(head);
  }

  makeButton(head) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "ui-sort";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => this.sort(head));
  }

  // which column it is sorted by and how, for whoever puts another table in its place
  get order() {
    const heads = [...this.querySelectorAll("thead th")];
    const column = heads.findIndex((head) => (head.getAttribute("aria-sort") ?? "none") !== "none");
    return column < 0 ? undefined : { column, way: heads[column].getAttribute("aria-sort") };
  }

  set order(wanted) {
    const head = wanted && this.querySelectorAll("thead th")[wanted.column];
    if (head?.hasAttribute("aria-sort")) this.sort(head, wanted.way);
  }

  sort(head, order = NEXT[head.getAttribute("aria-sort")]) {
    for (const other of head.parentElement.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    this.body.append(...(order === "none" ? this.rows : this.ordered(head, order === "ascending" ? 1 : -1)));
  }

  ordered(head, sign) {
    const key = (row) => row.cells[head.cellIndex];
    const compare = head.classList.contains("ui-number") ? compareNumbers : compareWords;
    const value = (cell) => cell.dataset.sort ?? cell.textContent.trim();
    const isEmpty = (cell) => cell.classList.contains("ui-null");
    return this.rows.toSorted((a, b) => {
      const [left, right] = [key(a), key(b)];
      if (isEmpty(left) || isEmpty(right)) return isEmpty(left) - isEmpty(right); // nothing comes last, both ways
      return sign * compare(value(left), value(right));
    });
  }
}

customElements.define("ui-table", Table);
