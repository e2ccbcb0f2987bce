// <ui-split name="…"> around two parts and the bar between them: the first part's share of the height is kept in this browser.
const STEP = 5; // percent, for a key

class Split extends HTMLElement {
  connectedCallback() {
    this.bar = this.querySelector(":scope > [role=separator]");
    if (!this.bar) return;
    this.usual = Number(this.bar.getAttribute("aria-valuenow"));
    this.key = `split ${this.getAttribute("name")}`;
    this.set(Number(kept()?.getItem(this.key)) || this.usual);
    this.bar.addEventListener("pointerdown", (event) => this.grab(event));
    this.bar.addEventListener("keydown", (event) => this.press(event));
    this.bar.addEventListener("dblclick", () => this.keep(this.usual));
  }

  grab({ pointerId }) {
    const follow = ({ clientY }) => this.set(((clientY - this.getBoundingClientRect().top) / this.clientHeight) * 100);
    this.bar.setPointerCapture(pointerId);
    this.bar.addEventListener("pointermove", follow);
    this.bar.addEventListener("lostpointercapture", () => {
      this.bar.removeEventListener("pointermove", follow);
      this.keep(this.share);
    }, { once: true });
  }

  press(event) {
    const to = { ArrowUp: this.share - STEP, ArrowDown: this.share + STEP, Home: 0, End: 100, Enter: this.usual }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.keep(to);
  }

  set(share) {
    const [least, most] = ["min", "max"].map((end) => Number(this.bar.getAttribute(`aria-value${end}`)));
    this.share = Math.round(Math.min(most, Math.max(least, share)));
    this.style.setProperty("--split", `${this.share}%`);
    this.bar.setAttribute("aria-valuenow", this.share);
  }

  keep(share) {
    this.set(share);
    try { kept()?.setItem(this.key, this.share); } catch { /* it is full */ }
  }
}

function kept() {
  try { return localStorage; } catch { return undefined; } // storage may be forbidden
}

customElements.define("ui-split", Split);
