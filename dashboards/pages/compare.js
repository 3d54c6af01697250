// Several studies in one chart, and their key figures side by side.

import { duration, el, fill, get, live, minor, number, query, shell, status, studyLink, table as tableOf } from "./page.js";
import { Chart, drawAll } from "./charts.js";

const chosen = new Set(query.getAll("study"));
let by = "trials";
shell("compare");

const choose = el("select", { "aria-label": "against", onchange: (event) => { by = event.target.value; refresh(); } },
  [["trials", "trials"], ["time", "time"], ["gpu_hours", "GPU-hours"]].map(([value, text]) => el("option", { value }, text)));
const chart = new Chart("compare", "Best so far of several studies", { wide: true, controls: [el("label", {}, "against ", choose)] });
const table = el("div", { class: "scroll" });
const note = el("p", { class: "note", role: "status" });
fill(document.getElementById("content"), el("h1", {}, "Compare studies"), note, el("div", { class: "charts" }, chart.box), table);

function row(study) {
  const box = el("input", { type: "checkbox", id: `choose-${study.name}`, checked: chosen.has(study.name),
    "aria-label": `compare ${study.name}`, onchange: (event) => {
      if (event.target.checked) chosen.add(study.name); else chosen.delete(study.name);
      const search = new URLSearchParams([...chosen].map((name) => ["study", name]));
      history.replaceState(null, "", `?${search}`);
      refresh();
    } });
  return el("tr", {}, el("td", {}, box), el("td", {}, studyLink(study.name)), el("td", {}, status(study.state)),
    minor(`${study.objective.direction} ${study.objective.metric}`), el("td", {}, study.best ? number(study.best.value) : "–"),
    el("td", {}, String(study.settled)), minor(String(study.epochs_trained)),
    minor(study.gpu_seconds ? `${number(study.gpu_seconds / 3600)} GPU-h` : duration(study.run_seconds)),
    minor(study.strategy.name));
}

async function refresh() {
  const body = await get("api/v1/studies");
  if (chosen.size === 0) body.studies.slice(-5).forEach((study) => chosen.add(study.name));
  fill(table, tableOf(["", "study", "state", "~objective", "best", "trials", "~epochs", "~used", "~strategy"],
    body.studies.toReversed().map(row), "No studies yet. Run one: shoal run FILE"));
  if (body.studies.length) {
    const names = body.studies.map((study) => study.name).filter((name) => chosen.has(name));
    const found = await get("api/v1/figures", { names: "compare", by, studies: names });
    await drawAll([chart], found.figures);
  }
  performance.mark("drawn all");
  return Math.max(0, ...body.studies.map((study) => study.seq));
}

refresh().then((seq) => live(seq, refresh)).catch((error) => { note.className = "note bad"; note.textContent = error.message; });
