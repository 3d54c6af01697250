// The pool: which trial held which device when, what runs now, what waits and why.

import { el, fill, get, live, minor, number, shell, status, studyLink, table, trialAddress, trialLink } from "./page.js";
import { Chart, drawAll, reader } from "./charts.js";

const WINDOWS = [["900", "15 minutes"], ["3600", "1 hour"], ["21600", "6 hours"], ["604800", "1 week"]];
const COLOURS = [["outcome", "how it ended"], ["study", "study"]];
let windowS = 900;
let colour = "outcome";

shell("pool");
const open = ([study, number]) => location.assign(trialAddress(study, number));
const select = (label, choices, take) => el("select",
  { "aria-label": label, onchange: (event) => { take(event.target.value); refresh(); } },
  choices.map(([value, text]) => el("option", { value }, text)));
const charts = [
  new Chart("gantt", "Devices over time", { wide: true, onTrial: open, controls: [
    el("label", {}, "last ", select("Window", WINDOWS, (value) => { windowS = Number(value); })),
    el("label", {}, "colour ", select("Colour", COLOURS, (value) => { colour = value; }))] }),
  new Chart("utilisation", "Devices held"), new Chart("shares", "Shares of the pool")];
const nodes = el("div", { class: "scroll", id: "nodes" });
const studies = el("div", { class: "scroll", id: "studies" });
const running = el("div", { class: "scroll", id: "running" });
const waiting = el("div", { class: "scroll", id: "waiting" });
const note = el("p", { class: "note", role: "status" });
fill(document.getElementById("content"), el("h1", {}, "Pool"), note,
  el("div", { class: "charts" }, charts.map((chart) => chart.box)),
  el("h2", {}, "Nodes"), nodes, el("h2", {}, "Who is owed what"), studies,
  el("h2", {}, "Running"), running, el("h2", {}, "Waiting"), waiting);

function trialCell(study, number) { return el("td", {}, studyLink(study), " ", trialLink(study, number)); }

/** What the pool consists of and how it is shared, as the run saw it last. */
function showPicture(picture) {
  const holder = (row) => el("div", {}, studyLink(row.study), " ", trialLink(row.study, row.number),
    row.gpus.length ? ` on GPU ${row.gpus.join(", ")}` : ` on ${row.cpus} CPUs`,
    row.resizing ? " (changing over)" : "");
  fill(nodes, table(["node", "devices", "held by", "no new trials because"], (picture?.nodes ?? []).map((node) => el("tr", {},
    el("td", {}, node.node), el("td", {}, node.gpus.length ? `${node.gpus.length} GPUs` : `${node.cpus} CPUs`,
      el("div", { class: "quiet" }, `${node.device_model} ${number(node.memory_gib)} GiB`)),
    el("td", {}, node.held.length ? node.held.map(holder) : "nobody"), el("td", { class: "why" }, node.cordoned || "–"))),
  "No run has shown its nodes yet."));
  fill(studies, table(["study", "priority", "weight", "owed", "used", "~could use", "~running", "~waiting", "~GPU-hours"],
    (picture?.studies ?? []).map((one) => el("tr", {}, el("td", {}, studyLink(one.study)),
      el("td", {}, String(one.priority)), el("td", {}, number(one.weight)), el("td", {}, number(one.owed)),
      el("td", {}, number(one.used)), minor(number(one.wanted)), minor(String(one.running)), minor(String(one.waiting)),
      minor(one.gpu_hours === null ? number(one.used_gpu_hours) : `${number(one.used_gpu_hours)} of ${number(one.gpu_hours)}`))),
    "No study is open."));
}

/** Who waits: in the order of their turns while a run goes on, else as the journal has them. */
function showWaiting(pool) {
  const turns = pool.head_running ? pool.picture?.queue ?? [] : [];
  const key = (row) => `${row.study} ${row.number}`;
  const states = new Map(pool.waiting.map((row) => [key(row), row.state]));
  const first = new Set(turns.map(key));
  const rows = [...turns.map((row) => ({ ...row, state: states.get(key(row)) ?? "queued", reason: row.why })),
    ...pool.waiting.filter((row) => !first.has(key(row)))];
  fill(waiting, pool.waiting_total > rows.length ? el("p", {}, `the first ${rows.length} of ${pool.waiting_total}`) : null,
    table(["trial", "state", "why"], rows.map((one) => el("tr", {}, trialCell(one.study, one.number),
      el("td", {}, status(one.state)), el("td", { class: "why" }, one.reason))), "Nothing waits."));
}

async function refresh() {
  const [pool, all] = await Promise.all([get("api/v1/pool"), get("api/v1/studies")]);
  const seq = Math.max(0, ...all.studies.map((study) => study.seq));
  const last = Math.max(0, ...all.studies.map((study) => study.last_at ?? 0));
  const body = await get("api/v1/figures", { names: "gantt,utilisation,shares", since: last ? last - windowS : "", colour, ...reader() });
  note.textContent = pool.head_running ? "A run is going on." : "No run is going on.";
  fill(running, table(["trial", "where", "~workers", "epoch", "value", "why"], pool.running.map((one) => el("tr", {},
    trialCell(one.study, one.number),
    el("td", {}, one.gpus.length ? `${one.node} GPU ${one.gpus.join(", ")}` : one.node), minor(String(one.workers)),
    el("td", {}, String(one.steps)), el("td", {}, number(one.value)), el("td", { class: "why" }, one.reason))),
  "Nothing runs."));
  showWaiting(pool);
  showPicture(pool.picture);
  await drawAll(charts, body.figures);
  performance.mark("drawn all");
  return seq;
}

refresh().then((seq) => live(seq, refresh)).catch((error) => { note.className = "note bad"; note.textContent = error.message; });
