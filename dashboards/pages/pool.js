// The pool: which trial held which device when, what runs now, what waits and why.

import { el, fill, get, live, number, shell, status, studyLink, trialAddress, trialLink } from "./page.js";
import { Chart, drawAll } from "./charts.js";

const WINDOWS = [["900", "15 minutes"], ["3600", "1 hour"], ["21600", "6 hours"], ["604800", "1 week"]];
let windowS = 900;

shell("pool");
const open = ([study, number]) => location.assign(trialAddress(study, number));
const choose = el("select", { "aria-label": "Window", onchange: (event) => { windowS = Number(event.target.value); refresh(); } },
  WINDOWS.map(([value, text]) => el("option", { value }, text)));
const charts = [
  new Chart("gantt", "Devices over time", { wide: true, onTrial: open, controls: [el("label", {}, "last ", choose)] }),
  new Chart("utilisation", "Devices held"), new Chart("shares", "Shares of the pool")];
const running = el("div", { class: "scroll", id: "running" });
const waiting = el("div", { class: "scroll", id: "waiting" });
const note = el("p", { class: "note", role: "status" });
fill(document.getElementById("content"), el("h1", {}, "Pool"), note,
  el("div", { class: "charts" }, charts.map((chart) => chart.box)),
  el("h2", {}, "Running"), running, el("h2", {}, "Waiting"), waiting);

function table(head, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows));
}

async function refresh() {
  const [pool, studies] = await Promise.all([get("api/v1/pool"), get("api/v1/studies")]);
  const seq = Math.max(0, ...studies.studies.map((study) => study.seq));
  const last = Math.max(0, ...studies.studies.map((study) => study.last_at ?? 0));
  const body = await get("api/v1/figures", { names: "gantt,utilisation,shares", since: last ? last - windowS : "" });
  note.textContent = pool.head_running ? "A run is going on." : "No run is going on.";
  fill(running, table(["trial", "where", "workers", "epoch", "value", "why"], pool.running.map((one) => el("tr", {},
    el("td", {}, studyLink(one.study), " ", trialLink(one.study, one.number)),
    el("td", {}, one.gpus.length ? `${one.node} GPU ${one.gpus.join(", ")}` : one.node), el("td", {}, String(one.workers)),
    el("td", {}, String(one.steps)), el("td", {}, number(one.value)), el("td", { class: "why" }, one.reason)))));
  fill(waiting, pool.waiting_total > pool.waiting.length
    ? el("p", {}, `the first ${pool.waiting.length} of ${pool.waiting_total}`) : null,
  table(["trial", "state", "why"], pool.waiting.map((one) => el("tr", {},
    el("td", {}, studyLink(one.study), " ", trialLink(one.study, one.number)), el("td", {}, status(one.state)),
    el("td", { class: "why" }, one.reason)))));
  await drawAll(charts, body.figures);
  performance.mark("drawn all");
  return seq;
}

refresh().then((seq) => live(seq, refresh)).catch((error) => { note.className = "note bad"; note.textContent = error.message; });
