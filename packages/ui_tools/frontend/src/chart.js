import uPlot from "uplot";
import { names, range } from "./parts/scale.js";

// <ui-chart data-chart="{…}">: see the chart macro for the fields. What the server drew in it stands until this is ready.
const FONT = "12px Inter Variable, sans-serif";
const DAY = 86400;
const MANY = 4; // series that fit into one line of a legend
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
    this.data = JSON.parse(this.dataset.chart);
    if (labels() !== before) return this.draw();
    this.plot.setData(this.columns(), !this.isZoomed);
    if (this.isZoomed) this.plot.redraw();
  }

  connectedCallback() {
    this.data = JSON.parse(this.dataset.chart);
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
      scales: { x: { time: true, ...(kind === "bars" ? { range: halfAStepMore } : {}) }, y: { range: (plot, low, high) => range(kind, low, high) } },
      axes: [
        { ...axis, grid: { show: false }, values: AXIS_DATES, space: 64, size: 42 },
        { ...axis, size: (plot, values) => 16 + 7 * Math.max(4, ...(values ?? []).map(({ length }) => length)), values: (plot, marks) => names(marks).map((name) => name && name + suffix) },
      ],
      series: [{ label: "Time", value: (plot, time) => (time == null ? "" : MOMENT(new Date(time * 1000))) }, ...series.map((one) => this.line(one, kind, suffix))],
    };
  }

  line({ label, tone, fill = true }, kind, suffix) {
    const colour = colourOf(variable(tone), this);
    const bars = kind === "bars";
    return {
      label, stroke: colour, width: bars ? 0 : 2, points: { show: false },
      paths: bars ? uPlot.paths.bars({ size: [0.6, 18], radius: 0.2 }) : uPlot.paths.spline(),
      value: (plot, height, i, at) => { // no words while nobody points
        const value = at == null ? "" : this.data.series[i - 1].values[at];
        return value === "" ? "" : value == null ? "–" : exact.format(value) + suffix;
      },
      fill: bars ? colour : fill ? (plot) => gradient(plot, colour) : undefined,
    };
  }
}

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
