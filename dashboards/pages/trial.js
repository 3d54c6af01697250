// One trial: its curve with what happened to it, its story, its log, its configuration.

import {
  act, duration, el, fact, fill, get, isMissing, live, minor, number, parameterList, path, query, shell, status, studyLink, table,
  trialAddress, when,
} from "./page.js";
import { Chart, drawAll, reader } from "./charts.js";
import { Remarks } from "./remarks.js";

const study = query.get("study") ?? "";
const index = Number(query.get("number") ?? 0);
const address = path("studies", study, "trials", index);
const OVER = ["completed", "stopped", "failed", "cancelled", "infeasible"];

shell("");
document.title = `${study} #${index} · shoal`;

const facts = el("div", { class: "facts" });
const why = el("p", { class: "note", role: "status" });
const actions = el("div", { class: "actions", role: "group", "aria-label": "Actions" });
const story = el("ol", { class: "story" });
const log = el("pre", { class: "log", id: "log", tabindex: 0, "aria-label": "Log" });
const generations = el("div", { class: "scroll" });
const around = el("nav", { class: "actions", "aria-label": "Neighbours" });
const charts = [new Chart("trial_curve", "Reports", { wide: true }),
  new Chart("gantt", "Devices it held", { wide: true }),
  new Chart("architecture", "Configuration as a diagram", { wide: true })];
const NAMES = charts.map((chart) => chart.name).join(",");
const remarks = new Remarks(study, index);
const content = document.getElementById("content");
let offset = -1;

fill(content, el("h1", {}, studyLink(study), ` trial ${index}`), around, why, facts, remarks.box, actions,
  el("div", { class: "charts" }, charts.map((chart) => chart.box)),
  el("h2", {}, "Where it ran"), generations, el("h2", {}, "Story"), story, el("h2", {}, "Log"), log);

function showTrial(trial) {
  why.textContent = trial.message ?? trial.reason;
  why.className = trial.state === "failed" ? "note bad" : "note";
  const last = Object.entries(trial.metrics).map(([name, value]) => `${name} ${number(value)}`).join(", ");
  fill(around,
    index > 0 ? el("a", { href: trialAddress(study, index - 1) }, "← previous") : null,
    index + 1 < trial.trials ? el("a", { href: trialAddress(study, index + 1) }, "next →") : null);
  fill(facts,
    fact("state", status(trial.state), trial.failure ?? ""),
    fact(trial.metric, number(trial.value, trial.not_finite), last && `last report: ${last}`),
    fact("best", number(trial.best_value), trial.best_step === null ? "" : `at epoch ${trial.best_step}`),
    fact("epochs", String(trial.steps), trial.can_pause ? "can pause" : ""),
    fact("time", duration(trial.run_seconds), trial.gpu_seconds ? `${number(trial.gpu_seconds / 3600)} GPU-h` : ""),
    fact("where", trial.gpus.length ? `GPU ${trial.gpus.join(", ")}` : trial.node || "–", `started ${when(trial.started_at)}`),
    fact("checkpoints", String(trial.checkpoints.length), stored(trial.checkpoints)),
    fact("configuration", "", parameterList(trial.parameters), "fact wide"));
  remarks.show(trial);
  const over = OVER.includes(trial.state);
  const button = (verb, title, enabled) => el("button", { type: "button", id: `do-${verb}`, disabled: !enabled,
    onclick: () => act(study, { verb, number: index }, title) }, title);
  fill(actions, button("pause", "Pause", trial.state === "running"), button("resume", "Resume", trial.state === "paused"),
    button("stop", "Stop", !over), button("kill", "Kill", !over));
  fill(generations, table(["generation", "where", "~workers", "~from", "~to", "ended", "epoch", "why"],
    trial.generations.map((one) => el("tr", {},
    el("td", {}, String(one.generation)), el("td", { class: "fixed" }, one.gpus.length ? `${one.node} GPU ${one.gpus.join(", ")}` : one.node),
    minor(String(one.workers)), minor(when(one.started_at)), minor(when(one.ended_at)),
    el("td", {}, status(one.outcome)), el("td", {}, String(one.last_step)), el("td", { class: "why" }, one.reason))), "It has not started."));
}

function stored(checkpoints) {
  if (!checkpoints.length) return "";
  const bytes = checkpoints.reduce((sum, one) => sum + one.bytes, 0);
  const size = bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${number(bytes / (1 << 20))} MiB`;
  return `${size}, newest ${checkpoints[checkpoints.length - 1].name}`;
}

const REPORTS_IN_A_ROW = 4;
let opened = false;

/** The story, where many reports in a row stand behind one line that opens. */
function showStory(told) {
  const line = (one) => el("li", {}, el("time", {}, when(one.at)), one.what);
  const isReport = (one) => one.what.startsWith("epoch ");
  const lines = [];
  for (let i = 0; i < told.length;) {
    let end = i;
    while (end < told.length && isReport(told[end])) end += 1;
    if (end - i > REPORTS_IN_A_ROW) {
      lines.push(line(told[i]), el("li", {}, el("details", { open: opened, ontoggle: (event) => { opened = event.target.open; } },
        el("summary", {}, `${end - i - 2} more reports`), el("ol", { class: "story" }, told.slice(i + 1, end - 1).map(line)))),
      line(told[end - 1]));
      i = end;
    } else {
      lines.push(line(told[i]));
      i += 1;
    }
  }
  fill(story, lines);
}

async function showLog() {
  const part = await get(`${address}/log`, { offset });
  if (part.restarted) log.textContent = "";
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  log.append(part.text);
  log.classList.toggle("nothing", !log.textContent);
  offset = part.next;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

async function refresh(studies) {
  if (!studies.includes(study)) return;
  const [trial, figures, told] = await Promise.all([
    get(address),
    get(`${path("studies", study)}/figures`, { names: NAMES, number: index, ...reader() }),
    get(`${address}/story`)]);
  content.classList.remove("absent");
  showTrial(trial);
  showStory(told.story);
  await Promise.all([drawAll(charts, figures.figures), showLog()]);
  performance.mark("drawn all");
  return figures.seq;
}

/** As soon as there is such a trial: until then its study's events are waited for. */
async function first() {
  try {
    return await refresh([study]);
  } catch (error) {
    if (!isMissing(error)) throw error;
    content.classList.add("absent");
    why.textContent = `${error.message} The page fills itself when the trial appears.`;
    return 0;
  }
}

async function follow(studies) {
  if (!content.classList.contains("absent")) { await refresh(studies); return; }
  if (studies.includes(study)) await first();
}

first().then((seq) => {
  live(seq, follow);
  setInterval(() => { if (!document.hidden && !content.classList.contains("absent")) showLog().catch(() => {}); }, 1000);
}).catch((error) => { why.className = "note bad"; why.textContent = error.message; });
