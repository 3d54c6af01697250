// Figures: made by the server, drawn by Plotly, which is loaded once and while the first figures are on their way.

import { el, toast } from "./page.js";

const plotly = new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = "static/plotly/plotly-strict.min.js";
  script.onload = () => resolve(window.Plotly);
  script.onerror = () => reject(new Error("the chart library did not load"));
  document.head.append(script);
});

const CONFIG = {
  responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset", showTips: false,
};
const NARROW = 620;

function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const colour = style.getPropertyValue("--text").trim();
  const copy = { ...layout, uirevision: "keep", font: { ...layout.font, color: colour } };
  copy.hoverlabel = { ...layout.hoverlabel, bgcolor: style.getPropertyValue("--panel").trim(), font: { color: colour } };
  if (innerWidth < NARROW) {
    copy.margin = { ...layout.margin, l: 44, r: 6 };
    copy.title = { ...layout.title, font: { size: 13 } };
  }
  return copy;
}

/** A place for figures: `draw(figure)` again and again; clicks on trials call `onTrial(customdata)`. */
export class Chart {
  constructor(name, label, { wide = false, controls = [], onTrial = null } = {}) {
    this.name = name;
    this.plot = el("div", { class: "plot", id: `plot-${name}`, role: "img", "aria-label": label });
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
    await library.react(this.plot, figure.data, themed(figure.layout), CONFIG);
    if (first) {
      performance.mark(`drawn ${this.name}`);
      if (this.onTrial) {
        this.plot.on("plotly_click", (event) => {
          const data = event.points[0]?.customdata;
          if (data !== undefined && data !== null) this.onTrial(data);
        });
      }
      if (figure.layout.height) this.plot.style.minHeight = `${figure.layout.height}px`;
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
