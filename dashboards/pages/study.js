// One study: its standing, its figures, its trials, and what a person may do with it.

import {
  act, duration, el, fact, fill, get, isMissing, live, number, parameterList, path, query, shell, status, toast, trialAddress,
  trialLink, when,
} from "./page.js";
import { Chart, drawAll, reader, watchVisible } from "./charts.js";
import { Remarks, remarked } from "./remarks.js";

const name = query.get("study") ?? "";
const address = path("studies", name);
const options = { by: "trials", x: "", y: "", with_stopped: "", metric: "", against: "" };
const table = { offset: 0, limit: 25, sort: "state", descending: true, state: "", tag: "" };
const STATES = ["", "running", "queued", "paused", "completed", "stopped", "failed", "cancelled", "infeasible"];
let parameters = [];

shell("");
document.title = `${name} · shoal`;

const facts = el("div", { class: "facts", id: "facts" });
const heading = el("h1", {}, name);
const why = el("p", { class: "note", role: "status", id: "why" });
const actions = el("div", { class: "actions", role: "group", "aria-label": "Actions" });
const trials = el("div", { class: "scroll", id: "trials" });
const enqueue = el("details", { id: "enqueue" }, el("summary", {}, "Enqueue a configuration"));
const remarks = new Remarks(name);
const objective = el("div", { class: "actions", id: "objective" });

function choice(label, key, values, ...drawn) {
  const select = el("select", { "aria-label": label, onchange: (event) => {
    options[key] = event.target.value;
    update(drawn.map((chart) => chart()));
  } }, values.map(([value, text]) => el("option", { value, selected: options[key] === value }, text)));
  return el("label", {}, `${label} `, select);
}

const open = (n) => location.assign(trialAddress(name, n));
const charts = {
  history: new Chart("history", "Best so far", { onTrial: open, controls: [
    choice("against", "by", [["trials", "trials"], ["time", "time"], ["gpu_hours", "GPU-hours"]], () => charts.history)] }),
  learning_curves: new Chart("learning_curves", "Learning curves", { onTrial: open }),
  parallel_coordinates: new Chart("parallel_coordinates", "Parallel coordinates", { wide: true }),
  importance: new Chart("importance", "Parameter importance", { controls: [
    choice("trials", "with_stopped", [["", "automatic"], ["false", "completed"],
      ["true", "also stopped"]], () => charts.importance)] }),
  rungs: new Chart("rungs", "Rungs"),
  slices: new Chart("slices", "Slices", { wide: true, onTrial: open }),
  contour: new Chart("contour", "Contour", { onTrial: open, controls: [el("span", { id: "contour-controls" })] }),
  pareto: new Chart("pareto", "Pareto front", { onTrial: open, controls: [el("span", { id: "pareto-controls" })] }),
  architecture: new Chart("architecture", "Best configuration as a diagram", { wide: true }),
};
const all = Object.values(charts);
const OF_OBJECTIVE = ["history", "learning_curves", "parallel_coordinates", "slices", "contour", "importance"];
const FIRST = [charts.history];
const SECOND = all.filter((chart) => chart !== charts.history && chart !== charts.importance);

const content = document.getElementById("content");
fill(content, heading, why, facts, remarks.box, actions, enqueue, objective,
  el("div", { class: "charts" }, all.map((chart) => chart.box)),
  el("h2", {}, "Trials"), trials);

function fetchFigures(wanted, extra = {}) {
  return get(`${address}/figures`, { names: wanted.map((chart) => chart.name).join(","), ...options, ...reader(), ...extra });
}

function showSummary(study, isRun) {
  const counts = Object.entries(study.trials).filter(([, count]) => count > 0);
  const left = study.outlook;
  const best = study.best;
  const reason = study.reason === "created" ? "" : study.reason;
  why.textContent = study.trouble || `${reason}${study.not_finite ? `; ${study.not_finite} trials have a value that is not finite` : ""}`;
  fill(facts,
    fact("state", status(study.state), study.ended_at ? `ended ${when(study.ended_at)}` : isRun ? `since ${when(study.created_at)}` : `no run has it open; begun ${when(study.created_at)}`),
    fact("trials", study.budget.trials === null ? `${study.settled}` : `${study.settled} of ${study.budget.trials}`,
      counts.map(([state, count]) => `${count} ${state}`).join(", ")),
    study.over ? fact("took", duration(study.active_seconds), "while a run had it open")
      : fact("time left", left ? duration(left.remaining_s) : "–",
        left ? `90 %: ${duration(left.low_s)} to ${duration(left.high_s)}` : "too few trials have ended to tell"),
    fact(`best ${study.objective.metric}`, best ? number(best.value) : "–", best ? trialLink(name, best.number)
      : study.closest ? ["nearest to the bounds: ", trialLink(name, study.closest.number)]
        : study.leader ? [`none has completed; ${number(study.leader.value)} so far in `, trialLink(name, study.leader.number)]
          : "no trial has completed"),
    study.objectives.length > 1 ? fact("Pareto front", study.front.length === 1 ? "1 trial" : `${study.front.length} trials`,
      study.front.slice(0, FRONT).flatMap((one) => [trialLink(name, one.number), " "])) : null,
    study.subject_to.length ? fact("subject to", study.subject_to.join(", ")) : null,
    fact("used", study.gpu_seconds ? `${number(study.gpu_seconds / 3600)} GPU-h` : duration(study.run_seconds),
      `${study.epochs_trained} epochs`),
    fact("strategy", study.strategy.name, `early stopping: ${study.early_stopping.name}`),
    best ? fact("best configuration", "", parameterList(best.parameters), "fact wide") : null);
  remarks.show(study);
  showActions(study);
}

const FRONT = 8; // of its trials are named in the box
let actionsFor = "";
function showActions(study) {
  const now = { trials: study.budget.trials, priority: study.priority, weight: study.weight };
  const key = `${study.state} ${JSON.stringify(now)}`;
  if (key === actionsFor) return;
  actionsFor = key;
  const button = (verb, title, enabled) => el("button",
    { type: "button", id: `do-${verb}`, disabled: !enabled, onclick: () => act(name, { verb }, title) }, title);
  const settings = Object.entries(now).map(([setting, value]) => el("label", {}, `${setting} `,
    el("input", { type: "number", step: "any", id: `set-${setting}`, name: setting, value: value ?? "", disabled: study.over })));
  const change = () => {
    const fields = settings.map((label) => label.querySelector("input"));
    const changed = fields.filter((field) => field.value !== String(now[field.name] ?? ""));
    if (!changed.length) { toast("Nothing is changed yet: type another value first."); return; }
    const changes = Object.fromEntries(changed.map((field) => [field.name, field.value === "" ? null : Number(field.value)]));
    act(name, { verb: "edit", changes }, "Change");
  };
  fill(actions,
    button("pause", "Pause", study.state === "running"), button("resume", "Resume", study.state === "paused"),
    button("stop", "Stop", !study.over), button("kill", "Kill", !study.over),
    settings, el("button", { type: "button", id: "do-edit", disabled: study.over, onclick: change }, "Change"));
}

function showControls(study) {
  parameters = study.parameters;
  const pairs = parameters.map((one) => [one, one]);
  [options.x, options.y] = [parameters[0] ?? "", parameters[1] ?? ""];
  const place = document.getElementById("contour-controls");
  fill(place, choice("x", "x", pairs, () => charts.contour), " ", choice("y", "y", pairs, () => charts.contour));
  const [, ...others] = study.objectives.map((one) => [one.metric, one.metric]);
  fill(document.getElementById("pareto-controls"), choice("against", "against",
    [...others, ...(others.length ? [] : [["", "cost"]]), ["run_s", "seconds"], ["epochs", "epochs"]], () => charts.pareto));
  if (others.length) {
    const metrics = [["", study.objective.metric], ...others];
    fill(objective, choice("charts show the objective", "metric", metrics, ...OF_OBJECTIVE.map((one) => () => charts[one])));
  }
  const form = el("form", { class: "enqueue", onsubmit: (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    act(name, { verb: "enqueue", values }, "Enqueue");
  } });
  fill(enqueue, el("summary", {}, "Enqueue a configuration (what is left empty is drawn at random)"), form);
  enqueue.addEventListener("toggle", async () => {
    try {
      const space = await get(`${address}/space`);
      fill(form, space.parameters.map((one) => el("label", {}, one.path, field(one))),
        el("button", { type: "submit", id: "do-enqueue" }, "Enqueue"));
    } catch (error) { toast(error.message); }
  }, { once: true });
}

function field(parameter) {
  if (!parameter.values) return el("input", { name: parameter.path, autocomplete: "off", placeholder: parameter.range });
  return el("select", { name: parameter.path }, el("option", { value: "" }, "(random)"),
    parameter.values.map(([value, label]) => el("option", { value }, label)));
}

/** A trial's values of the objectives after the first. */
function otherValues(trial) {
  const [, ...others] = Object.entries(trial.values ?? {});
  return others.map(([metric, value]) => el("div", { class: "quiet" }, `${metric} ${number(value)}`));
}

async function showTrials() {
  const body = await get(`${address}/trials`, table);
  const column = (key, text) => el("th", { scope: "col", "aria-sort": table.sort === key ? (table.descending ? "descending" : "ascending") : null },
    el("button", { type: "button", onclick: () => {
      table.descending = table.sort === key ? !table.descending : key !== "number";
      table.sort = key; table.offset = 0; showTrials();
    } }, text));
  const rows = body.trials.map((trial) => el("tr", {},
    el("td", {}, trialLink(name, trial.number), remarked(trial)), el("td", {}, status(trial.state)),
    el("td", {}, number(trial.value, trial.not_finite), trial.feasible === false ? el("div", { class: "bad" }, "outside of the bounds") : null,
      otherValues(trial)), el("td", {}, String(trial.steps)),
    el("td", { class: "hide-narrow" }, duration(trial.run_seconds)),
    el("td", { class: "parameters hide-narrow" }, parameterList(trial.parameters.slice(0, 12))),
    el("td", { class: "why" }, trial.reason)));
  const step = (by) => { table.offset = Math.max(0, table.offset + by * table.limit); showTrials(); };
  const until = Math.min(table.offset + table.limit, body.total);
  const chosenBy = (key, values) => el("label", {}, `${key} `, el("select", { id: `by-${key}`,
    onchange: (event) => { table[key] = event.target.value; table.offset = 0; showTrials(); } },
  values.map((one) => el("option", { value: one, selected: one === table[key] }, one || "all"))));
  const tags = table.tag && !body.tags.includes(table.tag) ? [table.tag, ...body.tags] : body.tags;
  fill(trials,
    el("div", { class: "actions" },
      chosenBy("state", STATES), tags.length ? chosenBy("tag", ["", ...tags]) : null,
      el("button", { type: "button", disabled: table.offset === 0, onclick: () => step(-1) }, "Previous"),
      el("span", {}, body.total ? `${table.offset + 1} to ${until} of ${body.total}` : "none"),
      el("button", { type: "button", disabled: until >= body.total, onclick: () => step(1) }, "Next")),
    el("table", {}, el("thead", {}, el("tr", {},
      column("number", "trial"), column("state", "state"), column("value", "value"), column("steps", "epochs"),
      el("th", { scope: "col", class: "hide-narrow" }, "time"), el("th", { scope: "col", class: "hide-narrow" }, "parameters"),
      el("th", { scope: "col" }, "why"))), el("tbody", {}, rows)));
}

/** Draw charts anew; the importance, which takes a second to compute, after the others. */
async function update(wanted) {
  const slow = wanted.filter((chart) => chart === charts.importance);
  const fast = wanted.filter((chart) => chart !== charts.importance);
  for (const part of [fast, slow]) {
    if (!part.length) continue;
    try { await drawAll(part, (await fetchFigures(part)).figures); } catch (error) { toast(error.message); }
  }
}

const LIVE = [charts.history, charts.learning_curves];
const SLOW_EVERY_MS = 3000; // what sums up all trials hardly changes with one of them
const IMPORTANCE_EVERY_MS = 20000;
let slowAt = performance.now();
let importanceAt = 0;
let catchUp = 0; // draws what an update left out when no later one comes

async function refresh(studies) {
  if (!studies.includes(name)) return;
  if (!begun) { await begin(); return; }
  const began = performance.now();
  all.forEach((chart) => { if (chart !== charts.importance) chart.stale = true; });
  const slow = began - slowAt > SLOW_EVERY_MS;
  if (slow) slowAt = began;
  const shown = all.filter((chart) => chart.visible && chart.stale && (slow || LIVE.includes(chart)));
  clearTimeout(catchUp);
  if (!slow) catchUp = setTimeout(() => update(all.filter((chart) => chart.visible && chart.stale)), SLOW_EVERY_MS);
  const body = await fetchFigures(shown.length ? shown : FIRST, { with_summary: true });
  showSummary(body.summary, body.head_running);
  await drawAll(shown, body.figures);
  performance.measure("update", { start: began, end: performance.now(), detail: body.seq });
  await showTrials();
  if (performance.now() - importanceAt > IMPORTANCE_EVERY_MS) { importanceAt = performance.now(); await update([charts.importance]); }
}

let begun = false;

/** Fill the page for the first time; the number of the last event that it shows. */
async function begin() {
  const rest = fetchFigures(SECOND);
  rest.catch(() => {}); // the first reply tells what is wrong
  const first = await fetchFigures(FIRST, { with_summary: true });
  begun = true;
  content.classList.remove("absent");
  const drawing = drawAll(FIRST, first.figures);
  showSummary(first.summary, first.head_running);
  showControls(first.summary);
  await drawing;
  await drawAll(SECOND, (await rest).figures);
  await Promise.all([update([charts.importance]), showTrials()]);
  importanceAt = performance.now();
  performance.mark("drawn all");
  watchVisible(all, (chart) => update([chart]));
  return first.seq;
}

begin().then((seq) => live(seq, refresh)).catch((error) => {
  if (begun || !isMissing(error)) { why.className = "note bad"; why.textContent = error.message; return; }
  content.classList.add("absent");
  why.textContent = `${error.message} The page fills itself when the study appears.`;
  live(0, refresh);
});
