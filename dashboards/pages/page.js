// What every page has: header, theme, talking to the server, and building elements without ever parsing text as HTML.

export const SIGNS = {
  completed: "●", stopped: "✕", running: "▲", paused: "■", failed: "◆", queued: "○", cancelled: "◇",
  infeasible: "□", stopping: "✕", lost: "★", resized: "⇄", preempted: "▽",
};
const PAGES = [["studies", "Studies"], ["pool", "Pool"], ["compare", "Compare"]];

export const query = new URLSearchParams(location.search);

/** An element; texts become text nodes, `on…` listeners, everything else attributes. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

async function answered(response) {
  if (response.status === 401) {
    location.assign("login");
    throw new Error("logged out");
  }
  const body = await response.json().catch(() => null); // a server error, or a proxy's page
  if (!response.ok || body === null) {
    const error = body?.error ?? { cause: `the server answered ${response.status}`, remedy: "" };
    throw Object.assign(new Error(`${error.cause} ${error.remedy}`.trim()), { status: response.status });
  }
  return body;
}

/** Does the error say that there is no such study or trial, at least not yet? */
export const isMissing = (error) => error.status === 404;

export const path = (...parts) => "api/v1/" + parts.map(encodeURIComponent).join("/");

export function get(address, parameters = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") search.append(name, one);
    }
  }
  const text = search.toString();
  return fetch(text ? `${address}?${text}` : address).then(answered);
}

export function post(address, body) {
  const headers = { "content-type": "application/json" };
  return fetch(address, { method: "POST", headers, body: JSON.stringify(body) }).then(answered);
}

/** Call `refresh(studies)` when the journal has changed; never twice at once, and once more if it changed meanwhile. */
export function live(seq, refresh) {
  let busy = false;
  let waiting = null;
  async function run(studies) {
    if (busy) { waiting = [...new Set([...(waiting ?? []), ...studies])]; return; }
    busy = true;
    try { await refresh(studies); } catch (error) { toast(error.message); }
    busy = false;
    if (waiting) { const next = waiting; waiting = null; run(next); }
  }
  let seen = seq;
  let source = null;
  function open() {
    source = new EventSource(`api/v1/events?seen=${seen}`);
    source.addEventListener("changed", (event) => {
      seen = Number(event.lastEventId);
      run(JSON.parse(event.data).studies);
    });
    source.addEventListener("hello", () => connection("live"));
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) { connection("reconnecting"); return; }
      // The browser has given up: something other than our stream answered, e.g. a proxy, or the session is over.
      connection("the server is gone");
      setTimeout(() => get("api/v1/studies").then(open, open), AGAIN_MS);
    });
  }
  open();
  addEventListener("pagehide", () => source.close());
}

const AGAIN_MS = 3000;

function connection(text) {
  const place = document.getElementById("connection");
  if (place) place.textContent = text;
}

export function shell(current) {
  const stored = localStorage.getItem("theme");
  const dark = stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "dark" : "light");
  const links = PAGES.map(([name, title]) => el("a", { href: name, "aria-current": name === current && "page" }, title));
  const swap = el("button", { type: "button", id: "theme", "aria-label": "Switch between light and dark", onclick: () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", next);
    setTheme(next);
    dispatchEvent(new Event("themechange"));
  } }, "◐");
  fill(document.getElementById("header"),
    el("a", { class: "brand", href: "studies" }, "shoal"),
    el("nav", { "aria-label": "Pages" }, links),
    el("span", { id: "connection", class: "quiet", role: "status" }, "loading"), swap);
  document.body.append(el("div", { class: "toast", role: "status", id: "toast" }));
}

function setTheme(name) { document.documentElement.dataset.theme = name; }

let toastTimer = 0;
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { place.textContent = ""; }, 8000);
}

export function number(value, notFinite) {
  if (value === null || value === undefined) return notFinite ?? "–";
  return String(Number(value.toPrecision(4)));
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

/** A moment by this machine's clock; with the day only when it is not today. */
export function when(moment) {
  if (moment === null) return "–";
  const at = new Date(moment);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

/** A cell of a column that a phone leaves out. */
export const minor = (text) => el("td", { class: "fixed hide-narrow" }, text);

/** A table, or a sentence when it would have no rows; "~" marks columns that a phone leaves out. */
export function table(head, rows, none) {
  if (!rows.length) return el("p", { class: "quiet" }, none);
  return el("table", {}, el("thead", {}, el("tr", {},
    head.map((text) => el("th", { scope: "col", class: text.startsWith("~") && "hide-narrow" }, text.replace("~", ""))))),
  el("tbody", {}, rows));
}

export function status(name) { return el("span", { class: `status ${name}` }, `${SIGNS[name] ?? "○"} ${name}`); }

export const studyLink = (name) => el("a", { href: `study?study=${encodeURIComponent(name)}` }, name);

export const trialAddress = (study, n) => `trial?study=${encodeURIComponent(study)}&number=${n}`;

export const trialLink = (study, n) => el("a", { href: trialAddress(study, n) }, `#${n}`);

export function fact(name, value, more = "", kind = "fact") {
  return el("div", { class: kind },
    el("div", { class: "name" }, name), el("div", { class: "value" }, value),
    el("div", { class: "more" }, ...[more].flat()));
}

/** Parameters one beside the other, each kept in one piece. */
export const parameterList = (pairs) => el("span", { class: "pairs" }, pairs.map(([name, value]) =>
  el("span", {}, el("span", { class: "quiet" }, `${name}=`), value)));

/** Show what an action would do, and do it when the person agrees. */
export async function act(study, body, title) {
  const address = path("studies", study, "commands");
  let preview;
  try { preview = await post(`${address}/preview`, body); } catch (error) { toast(error.message); return; }
  const box = el("dialog", { "aria-label": title });
  const agreed = await new Promise((resolve) => {
    const close = (value) => { box.close(); box.remove(); resolve(value); };
    box.addEventListener("cancel", () => close(false));
    box.append(
      el("h2", {}, title),
      el("p", { class: preview.ok ? "" : "bad" }, preview.effect),
      el("div", { class: "actions" },
        preview.ok ? el("button", { type: "button", id: "confirm", onclick: () => close(true) }, title) : null,
        el("button", { type: "button", onclick: () => close(false) }, preview.ok ? "Leave it" : "Close")));
    document.body.append(box);
    box.showModal();
  });
  if (!agreed) return;
  try {
    const reply = await post(address, body);
    toast(reply.effect);
  } catch (error) { toast(error.message); }
}
