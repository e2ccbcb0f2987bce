import uPlot from "uplot";
import { beside, place } from "./parts/points.js";
import { names, range } from "./parts/scale.js";

// <ui-chart data-chart="{…}">: see the macros chart and plot for the fields. What the server drew in it stands until this is ready.
const FONT = "12px Inter Variable, sans-serif";
const DAY = 86400;
const MANY = 4; // series that fit into one line of a legend
const TONES = ["primary", "orange", "green", "purple", "red", "cyan", "yellow", "teal"]; // of series that have none
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200]; // rows from one name on the axis to the next
const AXIS_DATES = [ // the format by the distance of two marks, and where the day or year changes
  [DAY * 28, "{MMM} {YYYY}", null, null, null, null, null, null, 1],
  [DAY, "{D} {MMM}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
];

// the primary colour is made for buttons, its lighter and darker twin for lines on the page
const variable = (tone = "primary") => (tone === "primary" ? "blue" : tone);

// a canvas needs a resolved colour, and Tabler's are oklch(), light-dark() or color-mix(): the browser resolves them
function colourOf(name, within) {
  const probe = within.appendChild(document.createElement("i"));
  probe.style.color = `var(--tblr-${name})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
const faded = (colour, percent) => `color-mix(in srgb, ${colour} ${percent}%, transparent)`;
const MOMENT = uPlot.fmtDate("{YYYY}-{MM}-{DD} {HH}:{mm}");
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 12 });

class Chart extends HTMLElement {
  static observedAttributes = ["data-chart"];

  // New data comes in place: a reader's zoom stays.
  attributeChangedCallback() {
    if (!this.plot) return; // not drawn yet
    const labels = () => this.data.series.map(({ label }) => label).join();
    const before = labels();
    this.read();
    if (labels() !== before || this.data.x) return this.draw();
    this.plot.setData(this.columns(), !this.isZoomed);
    if (this.isZoomed) this.plot.redraw();
  }

  // rows along names, numbers or moments of their own have places; a time series has its times
  read() {
    this.data = JSON.parse(this.dataset.chart);
    const { x, kind, series } = this.data;
    this.places = x && place(x, kind);
    if (!x) return;
    series.forEach((one, i) => { one.tone ??= TONES[i % TONES.length]; one.fill ??= series.length === 1; });
    for (const one of series) one.values = this.places.order.map((row) => one.values[row]);
  }

  connectedCallback() {
    this.read();
    this.redraw = () => this.draw();
    this.sized = new ResizeObserver(() => {
      if (this.plot && this.clientWidth !== this.plot.width) this.fit();
    });
    document.addEventListener("themechange", this.redraw);
    document.fonts.ready.then(() => { if (this.isConnected) { this.draw(); this.sized.observe(this); } });
  }

  disconnectedCallback() {
    document.removeEventListener("themechange", this.redraw);
    this.sized.disconnect();
    this.plot?.destroy();
  }

  draw() {
    this.plot?.destroy();
    this.replaceChildren();
    this.classList.toggle("ui-many", this.data.series.length > MANY);
    this.isZoomed = false;
    this.plot = new uPlot(this.options(), this.columns(), this);
    this.plot.root.setAttribute("aria-hidden", "true"); // the element itself carries the description
  }

  // What the legend leaves: with many series it has several lines.
  fit() {
    const legend = this.querySelector(".u-legend")?.offsetHeight ?? 0;
    this.plot.setSize({ width: this.clientWidth, height: Math.max(120, this.clientHeight - legend) });
  }

  columns() {
    const { t, series, kind } = this.data;
    const values = series.map((one) => one.values);
    if (this.places) return kind === "bar" ? beside(values) : [this.places.at, ...values];
    return [t, ...(kind === "bars" ? stacked(values) : values)];
  }

  options() {
    const { series, unit = "", kind = "line" } = this.data;
    const muted = colourOf("secondary", this), lines = colourOf("border-color", this);
    const axis = { stroke: muted, font: FONT, ticks: { show: false }, grid: { stroke: lines, width: 1 } };
    const suffix = unit ? ` ${unit}` : "";
    const legend = series.length > 1;
    return {
      width: this.clientWidth,
      height: this.clientHeight - (legend ? 30 : 0),
      padding: [8, 8, 0, 0],
      cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false }, bind: { dblclick: (plot, target, handler) => (event) => { this.isZoomed = false; return handler(event); } } },
      hooks: { ready: [(plot) => { this.plot = plot; this.fit(); }], setSelect: [({ select }) => { if (select.width) this.isZoomed = true; }] },
      legend: { show: legend, markers: { width: 0, fill: (plot, i) => (i ? colourOf(variable(series[i - 1].tone), this) : "transparent") } },
      ...(this.places ? { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") } : {}),
      scales: { x: this.along(kind), y: { range: (plot, low, high) => range(kind, low, high) } },
      axes: [
        { ...axis, grid: { show: false }, size: 42, ...this.marks() },
        { ...axis, size: (plot, values) => 16 + 7 * Math.max(4, ...(values ?? []).map(({ length }) => length)), values: (plot, marks) => names(marks).map((name) => name && name + suffix) },
      ],
      series: [{ label: this.places && this.places.scale !== "time" ? "At" : "Time", value: (plot, at) => this.nameOf(at) }, ...series.map((one) => this.line(one, kind, suffix))],
    };
  }

  along(kind) {
    if (!this.places) return { time: true, ...(kind === "bars" ? { range: halfAStepMore } : {}) };
    const { scale, at } = this.places;
    return { time: scale === "time", ...(kind === "bar" ? { range: [-0.5, at.length - 0.5] } : scale === "names" ? { range: [0, Math.max(1, at.length - 1)] } : {}) };
  }

  marks() {
    const { scale, labels } = this.places ?? {};
    if (scale === "names") return { space: 72, incrs: STEPS, values: (plot, marks) => marks.map((mark) => shortened(labels[mark] ?? "")) };
    return scale === "number" ? { space: 64, values: (plot, marks) => names(marks) } : { space: 64, values: AXIS_DATES };
  }

  nameOf(at) {
    if (at == null) return "";
    if (this.places?.scale === "names") return this.places.labels[Math.round(at)] ?? "";
    return this.places?.scale === "number" ? exact.format(at) : MOMENT(this.places ? uPlot.tzDate(new Date(at * 1000), "Etc/UTC") : new Date(at * 1000));
  }

  line({ label, tone, fill = true }, kind, suffix) {
    const colour = colourOf(variable(tone), this);
    const bars = kind === "bars" || kind === "bar";
    return {
      label, stroke: colour, width: bars ? 0 : 2, points: { show: false },
      paths: bars ? uPlot.paths.bars(kind === "bar" ? { size: [0.9, 64], radius: 0.1 } : { size: [0.6, 18], radius: 0.2 }) : uPlot.paths.linear(),
      value: (plot, height, i, at) => { // no words while nobody points
        const row = at != null && kind === "bar" ? Math.floor(at / this.data.series.length) : at;
        const value = row == null ? "" : this.data.series[i - 1].values[row];
        return value === "" ? "" : value == null ? "–" : exact.format(value) + suffix;
      },
      fill: bars ? colour : fill ? (plot) => gradient(plot, colour) : undefined,
    };
  }
}

const shortened = (name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

// bars of several series stand on each other: each is drawn as high as with those after it, which come in front
function stacked(values) {
  return values.map((own, i) => own.map((value, at) => (value ? values.slice(i).reduce((sum, one) => sum + (one[at] ?? 0), 0) : null)));
}

// the first and the last bar are as wide as the others
function halfAStepMore({ data: [t] }, low, high) {
  const half = t.length > 1 ? (t.at(-1) - t[0]) / (t.length - 1) / 2 : 43200;
  return [low - half, high + half];
}

function gradient({ ctx, bbox }, colour) {
  if (!bbox.height) return faded(colour, 12);
  const shade = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height);
  shade.addColorStop(0, faded(colour, 24));
  shade.addColorStop(1, faded(colour, 2));
  return shade;
}

customElements.define("ui-chart", Chart);
