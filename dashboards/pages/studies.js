// All studies: where each stands, when it will be done, its best value.

import { duration, el, fill, get, live, number, shell, status, studyLink, trialLink } from "./page.js";
import { remarked } from "./remarks.js";

const HEAD = [["study"], ["state"], ["trials"], ["time left"], ["best"], ["hours on devices", "hide-narrow"], ["why", "hide-narrow"]];

function row(study) {
  const total = study.budget.trials;
  const done = study.settled;
  const left = study.outlook;
  const { best, leader } = study;
  return el("tr", {},
    el("td", {}, studyLink(study.name), remarked(study)),
    el("td", {}, status(study.state)),
    el("td", {}, total === null ? `${done}` : `${done} / ${total}`,
      total === null ? null : el("progress", { value: done, max: total, "aria-label": `${done} of ${total} trials` })),
    el("td", {}, left ? `${duration(left.remaining_s)} (${duration(left.low_s)} to ${duration(left.high_s)})` : "–"),
    el("td", {}, best ? [`${number(best.value)} `, trialLink(study.name, best.number)]
      : leader ? [`${number(leader.value)} so far `, trialLink(study.name, leader.number)] : "–",
      el("div", { class: "quiet" }, `${study.objective.direction} ${study.objective.metric}`)),
    el("td", { class: "hide-narrow" }, `${number(study.used_s / 3600)} ${study.gpu_seconds ? "on GPUs" : "of workers"}`,
      el("div", { class: "quiet" }, `equal share ${number(study.owed_s / 3600)}`)),
    el("td", { class: "why hide-narrow" }, study.reason === "created" ? "" : study.reason));
}

async function refresh() {
  const body = await get("api/v1/studies");
  const table = document.getElementById("studies");
  fill(table, el("thead", {}, el("tr", {}, HEAD.map(([text, kind]) => el("th", { scope: "col", class: kind }, text)))),
    el("tbody", {}, body.studies.toReversed().map(row)));
  const note = document.getElementById("note");
  const none = body.studies.length === 0 ? "No studies yet. Run one: shoal run FILE" : "";
  note.textContent = body.trouble || none || (body.head_running ? "A run is going on." : "No run is going on.");
  return Math.max(0, ...body.studies.map((study) => study.seq));
}

shell("studies");
refresh().then((seq) => live(seq, refresh));
