// <ui-copy text="…"> or <ui-copy from="#id"> around a button.
const SHOWN_MS = 1500;

class Copy extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", () => this.copy());
  }

  async copy() {
    const source = this.getAttribute("from");
    const text = source ? textOf(document.querySelector(source)) : this.getAttribute("text");
    const done = await write(text ?? "");
    this.classList.toggle("is-done", done);
    this.querySelector("[role=status]").textContent = done ? "Copied" : "Copying was refused";
    setTimeout(() => {
      this.classList.remove("is-done");
      this.querySelector("[role=status]").textContent = "";
    }, SHOWN_MS);
  }
}

const textOf = (element) => element?.value ?? element?.textContent;

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writeTheOldWay(text); // without https there is no clipboard object
  }
}

function writeTheOldWay(text) {
  const area = Object.assign(document.createElement("textarea"), { value: text, className: "visually-hidden" });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

customElements.define("ui-copy", Copy);
