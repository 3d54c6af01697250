// Figures: made by the server, drawn by Plotly, which is loaded once and while the first figures are on their way.

import { el, toast } from "./page.js";

const plotly = new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = "static/plotly/plotly-strict.min.js";
  script.onload = () => resolve(window.Plotly);
  script.onerror = () => reject(new Error("the chart library did not load"));
  document.head.append(script);
});

/** On black the darkest colour of the palette is hard to see. */
const ON_BLACK = { "#0072b2": "#3f9fe0" };

function lit(traces) {
  if (document.documentElement.dataset.theme !== "dark") return traces;
  return traces.map((trace) => {
    const copy = { ...trace };
    for (const part of ["line", "marker"]) {
      const colour = ON_BLACK[trace[part]?.color];
      if (colour) copy[part] = { ...trace[part], color: colour };
    }
    return copy;
  });
}

const CONFIG = {
  responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset", showTips: false,
};
const NARROW = 620;

/** What figures need to know about the reader's screen and clock. */
export function reader() {
  return {
    narrow: innerWidth < NARROW ? "true" : "",
    utc_offset_s: -new Date().getTimezoneOffset() * 60 || "",
  };
}

const SMALL_LETTER = 5.7; // pixels a letter of the line under a title takes on average
const LETTER = 6.4; // the same of a sentence in an empty chart
const LINE = 14;

/** A text in as many lines as it needs. */
function inLines(text, width, letter) {
  const most = Math.max(20, Math.floor((width - 20) / letter));
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

function themed(layout, width, empty) {
  const style = getComputedStyle(document.documentElement);
  const colour = style.getPropertyValue("--text").trim();
  const copy = { ...layout, uirevision: "keep", font: { ...layout.font, color: colour } };
  copy.hoverlabel = { ...layout.hoverlabel, bgcolor: style.getPropertyValue("--panel").trim(), font: { color: colour } };
  copy.margin = { ...layout.margin };
  copy.title = { ...layout.title };
  if (innerWidth < NARROW) {
    Object.assign(copy.margin, { l: Math.min(44, copy.margin.l), r: 6 });
    copy.title.font = { size: 13 };
  }
  if (empty) { // a sentence says why
    copy.annotations = (layout.annotations ?? []).map((one) => ({ ...one, text: inLines(one.text, width, LETTER).join("<br>") }));
  }
  const lines = inLines(layout.title?.subtitle?.text ?? "", width, SMALL_LETTER);
  const extra = (lines.length - 1) * LINE; // more lines push the chart down
  if (extra) {
    copy.title.subtitle = { ...layout.title.subtitle, text: lines.join("<br>") };
    copy.margin.t += extra;
    if (copy.height) copy.height += extra;
  }
  return copy;
}

/** A place for figures: `draw(figure)` again and again; clicks on trials call `onTrial(customdata)`. */
export class Chart {
  constructor(name, label, { wide = false, controls = [], onTrial = null } = {}) {
    this.name = name;
    this.plot = el("div", { class: "plot", id: `plot-${name}`, role: "img", "aria-label": label },
      el("p", { class: "quiet waiting" }, `${label} …`));
    this.box = el("section", { class: wide ? "chart wide" : "chart", "aria-label": label },
      controls.length ? el("div", { class: "controls" }, controls) : null, this.plot);
    this.onTrial = onTrial;
    this.visible = true;
    this.stale = false;
    this.figure = null;
    addEventListener("themechange", () => { if (this.figure) this.draw(this.figure); });
  }

  async draw(figure) {
    const library = await plotly;
    const first = this.figure === null;
    this.figure = figure;
    if (first) this.plot.replaceChildren();
    const layout = themed(figure.layout, this.plot.clientWidth, figure.data.length === 0);
    if (layout.height) this.plot.style.minHeight = `${layout.height}px`;
    await library.react(this.plot, lit(figure.data), layout, CONFIG);
    if (first) {
      performance.mark(`drawn ${this.name}`);
      if (this.onTrial) {
        this.plot.on("plotly_click", (event) => {
          const data = event.points[0]?.customdata;
          if (data !== undefined && data !== null) this.onTrial(data);
        });
      }
    }
    this.stale = false;
  }
}

/** Tells charts whether they are on the screen; `onShow(chart)` when one with old data comes into view. */
export function watchVisible(charts, onShow) {
  const byBox = new Map(charts.map((chart) => [chart.box, chart]));
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = byBox.get(entry.target);
      chart.visible = entry.isIntersecting;
      if (chart.visible && chart.stale) onShow(chart);
    }
  }, { rootMargin: "60px" });
  charts.forEach((chart) => observer.observe(chart.box));
}

/** Draw figures by name, one a task so that the page stays responsive; a broken one does not keep the others away. */
export async function drawAll(charts, figures) {
  for (const chart of charts) {
    if (figures[chart.name]) {
      try { await chart.draw(figures[chart.name]); } catch (error) { toast(`${chart.name}: ${error.message}`); }
    }
  }
}
