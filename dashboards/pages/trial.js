// One trial: its curve with what happened to it, its story, its log, its configuration.

import {
  act, duration, el, fact, fill, get, live, number, parameterText, path, query, shell, status, studyLink, trialAddress, when,
} from "./page.js";
import { Chart, drawAll } from "./charts.js";

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
const charts = [new Chart("trial_curve", "Reports", { wide: true }), new Chart("architecture", "Configuration as a diagram", { wide: true })];
let offset = -1;

fill(document.getElementById("content"), el("h1", {}, studyLink(study), ` trial ${index}`), around, why, facts, actions,
  el("div", { class: "charts" }, charts.map((chart) => chart.box)),
  el("h2", {}, "Generations"), generations, el("h2", {}, "Story"), story, el("h2", {}, "Log"), log);

function showTrial(trial) {
  why.textContent = trial.message ?? trial.reason;
  why.className = trial.state === "failed" ? "note bad" : "note";
  const metrics = Object.entries(trial.metrics).map(([name, value]) => `${name} ${number(value)}`).join(", ");
  fill(around,
    index > 0 ? el("a", { href: trialAddress(study, index - 1) }, "← previous") : null,
    index + 1 < trial.trials ? el("a", { href: trialAddress(study, index + 1) }, "next →") : null);
  fill(facts,
    fact("state", status(trial.state), trial.failure ?? ""),
    fact(trial.metric, number(trial.value, trial.not_finite), metrics),
    fact("best", number(trial.best_value), trial.best_step === null ? "" : `at epoch ${trial.best_step}`),
    fact("epochs", String(trial.steps), trial.can_pause ? "can pause" : ""),
    fact("time", duration(trial.run_seconds), trial.gpu_seconds ? `${number(trial.gpu_seconds / 3600)} GPU-h` : ""),
    fact("where", trial.gpus.length ? `GPU ${trial.gpus.join(", ")}` : trial.node || "–", `started ${when(trial.started_at)}`),
    fact("checkpoints", String(trial.checkpoints.length),
      trial.checkpoints.map((one) => `${one.name} (${Math.ceil(one.bytes / 1024)} KiB)`).join(", ")),
    fact("configuration", "", parameterText(trial.parameters), "fact wide"));
  const over = OVER.includes(trial.state);
  const button = (verb, title, enabled) => el("button", { type: "button", id: `do-${verb}`, disabled: !enabled,
    onclick: () => act(study, { verb, number: index }, title) }, title);
  fill(actions, button("pause", "Pause", trial.state === "running"), button("resume", "Resume", trial.state === "paused"),
    button("stop", "Stop", !over), button("kill", "Kill", !over));
  fill(generations, el("table", {}, el("thead", {}, el("tr", {},
    ["generation", "where", "workers", "from", "to", "ended", "epoch", "why"].map((text) => el("th", { scope: "col" }, text)))),
  el("tbody", {}, trial.generations.map((one) => el("tr", {},
    el("td", {}, String(one.generation)), el("td", {}, one.gpus.length ? `${one.node} GPU ${one.gpus.join(", ")}` : one.node),
    el("td", {}, String(one.workers)), el("td", {}, when(one.started_at)), el("td", {}, when(one.ended_at)),
    el("td", {}, status(one.outcome)), el("td", {}, String(one.last_step)), el("td", { class: "why" }, one.reason))))));
}

async function showLog() {
  const part = await get(`${address}/log`, { offset });
  if (part.restarted) log.textContent = "";
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  log.append(part.text);
  if (!log.textContent) log.textContent = "";
  offset = part.next;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

async function refresh(studies) {
  if (!studies.includes(study)) return;
  const [trial, figures, told] = await Promise.all([
    get(address),
    get(`${path("studies", study)}/figures`, { names: "trial_curve,architecture", number: index }),
    get(`${address}/story`)]);
  showTrial(trial);
  fill(story, told.story.map((one) => el("li", {}, el("time", {}, when(one.at)), one.what)));
  await Promise.all([drawAll(charts, figures.figures), showLog()]);
  performance.mark("drawn all");
  return figures.seq;
}

refresh([study]).then((seq) => {
  live(seq, refresh);
  setInterval(() => { if (!document.hidden) showLog().catch(() => {}); }, 1000);
}).catch((error) => { why.className = "note bad"; why.textContent = error.message; });
