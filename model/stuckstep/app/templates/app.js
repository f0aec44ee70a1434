"use strict";
(() => {
const token = document.body.dataset.token, body = document.getElementById("scenario-body");
const begin = document.getElementById("begin"), scope = document.getElementById("scope");
const status = document.getElementById("status"), kept = document.getElementById("kept");
const controls = [...document.querySelectorAll(".control")].map(part => ({
  part, cells: JSON.parse(part.dataset.cells), open: JSON.parse(part.dataset.open),
  typed: part.querySelector("input[type=text]"), range: part.querySelector("input[type=range]"), wrong: part.querySelector(".wrong"),
}));
const keyOf = cell => JSON.stringify(cell);
let held = new Map();     // what each cell holds in the scenario, as text
let changes = new Map();  // what was changed, as text

class Stopped extends Error {}
const ask = async (path, content) => {
  let response;
  try {
    response = await fetch(path, {method: "POST", body: JSON.stringify(content),
      headers: {"content-type": "application/json", "x-stuckstep-token": token}});
  } catch { throw new Stopped("stopped"); }
  if (response.status === 403) throw new Stopped("changed");
  return response;
};

const state = () => ({scenario: begin.value, cells: [...changes].map(([key, text]) => [...JSON.parse(key), text])});
const link = () => {
  const said = new URLSearchParams({scenario: begin.value});
  for (const [key, text] of changes) said.append("c", JSON.stringify([...JSON.parse(key), text]));
  return "#" + said;
};

// Which of a control's cells are moved: those of the phases chosen, or the only one.
const moved = one => {
  if (one.cells.length === 1) return one.cells;
  if (scope && scope.value) return one.cells.filter(cell => cell[1].split("@").slice(1).join("@") === scope.value);
  return one.open.length ? one.open : one.cells;
};
const textOf = cell => changes.get(keyOf(cell)) ?? held.get(keyOf(cell)) ?? "";

const draw = () => {
  for (const one of controls) {
    const texts = new Set(moved(one).map(textOf)), text = texts.size === 1 ? [...texts][0] : "";
    if (document.activeElement !== one.typed) one.typed.value = text;
    one.typed.placeholder = texts.size > 1 ? "differs" : "";
    if (document.activeElement !== one.range) one.range.value = text === "" ? one.range.min : text;
    one.part.classList.toggle("changed", one.cells.some(cell => changes.has(keyOf(cell))));
  }
};

const set = (one, text) => {
  for (const cell of moved(one)) {
    if (text === held.get(keyOf(cell))) changes.delete(keyOf(cell)); else changes.set(keyOf(cell), text);
  }
  draw();
  recalculate();
};

// One question at a time; while it is out only the latest state waits.
let busy = false, waiting = false, since = 0;
const recalculate = async () => {
  if (!since) since = performance.now();
  if (busy) { waiting = true; return; }
  busy = true;
  do {
    waiting = false;
    const asked = since;
    since = 0;
    try {
      const response = await ask("/answer", state()), found = await response.json();
      tell(response.ok ? [] : found.faults || [], response.ok || found.faults?.length ? "" : found.wrong);
      if (response.ok) show(found, asked);
    } catch (error) { stopped(error); break; }
  } while (waiting);
  busy = false;
};

const tell = (faults, words) => {
  const wrong = new Map(faults.map(([table, row, column, text]) => [keyOf([table, row, column]), text]));
  for (const one of controls) {
    const said = one.cells.map(cell => wrong.get(keyOf(cell))).find(text => text) || "";
    one.wrong.textContent = said;
    one.typed.setAttribute("aria-invalid", said ? "true" : "false");
  }
  status.classList.toggle("bad", Boolean(words));
  status.textContent = words || (faults.length ? "A value cannot be used: the figures show the last state that could." : "");
};

// On a small screen the answer stays in sight at the foot while the sliders are moved.
const summarise = () => {
  const owed = [...body.querySelectorAll(".tile")].map(tile => tile.textContent).find(words => words.startsWith("most unpaid"));
  const most = owed && owed.match(/^most unpaid, ([^\d(-]*)([\d.,<]+)/);
  document.getElementById("mini").textContent = body.querySelector("#headline").textContent + (most ? `; most unpaid ${most[2]} ${most[1]}` : "");
};

const show = (found, asked) => {
  const open = new Set([...body.querySelectorAll("details[open]")].map(one => one.closest("[id]").id));
  body.innerHTML = found.html;
  for (const one of body.querySelectorAll("details")) if (open.has(one.closest("[id]").id)) one.open = true;
  history.replaceState(null, "", link());
  summarise();
  requestAnimationFrame(() => {
    const passed = performance.now() - asked;
    document.body.dataset.latency = passed.toFixed(1);
    document.body.dataset.answers = Number(document.body.dataset.answers || 0) + 1;
    if (!status.classList.contains("bad"))
      status.textContent = "Worked out by the engine in " + Math.round(found.seconds * 1000) + " ms, shown after " + Math.round(passed) + " ms";
  });
};

const stopped = error => {
  if (!(error instanceof Stopped)) throw error;
  status.classList.add("bad");
  status.textContent = error.message === "changed"
    ? "The program was started again under another address. Open the address it printed and add this to it: " + link()
    : "The program has stopped: the figures show the last state that was worked out. Start `stuckstep app` again; this page tries again by itself.";
  if (error.message === "stopped") setTimeout(() => { recalculate(); }, 1500);
  busy = false;
};

const start = async (scenario, wanted) => {
  begin.value = scenario;
  if (begin.value !== scenario) {
    begin.value = "base";
    status.textContent = "The link names a scenario that this deal does not have.";
  }
  try {
    const response = await ask("/values", {scenario: begin.value, cells: []}), found = await response.json();
    held = new Map(found.values.map(([table, row, column, text]) => [keyOf([table, row, column]), text]));
  } catch (error) { stopped(error); return; }
  changes = new Map(wanted.filter(([key]) => held.has(key)));
  draw();
  recalculate();
};

for (const one of controls) {
  one.range.addEventListener("input", () => { one.typed.value = one.range.value; set(one, one.range.value); });
  one.typed.addEventListener("change", () => set(one, one.typed.value.trim().replaceAll(",", "") || textOf(moved(one)[0])));
}
document.getElementById("controls").addEventListener("submit", event => event.preventDefault());
begin.addEventListener("change", () => start(begin.value, []));
scope?.addEventListener("change", draw);
document.getElementById("reset").addEventListener("click", () => { changes = new Map(); tell([], ""); draw(); recalculate(); });
document.getElementById("link").addEventListener("click", async () => {
  const said = document.getElementById("link-said"), address = location.href.split("#")[0] + link();
  try { await navigator.clipboard.writeText(address); said.textContent = "Copied"; }
  catch { said.textContent = "The address bar holds it"; }
  setTimeout(() => { said.textContent = ""; }, 4000);
});

const name = () => document.getElementById("name").value.trim();
const say = (words, bad) => { kept.textContent = words; kept.classList.toggle("bad", bad); };
for (const button of document.querySelectorAll("button.download")) button.addEventListener("click", async () => {
  say("Being made ...", false);
  try {
    const response = await ask(button.dataset.path, {...state(), name: name()});
    if (!response.ok) { say((await response.json()).wrong, true); return; }
    const address = URL.createObjectURL(await response.blob()), anchor = document.createElement("a");
    anchor.href = address;
    anchor.download = button.dataset.file;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    say("Downloaded " + button.dataset.file, false);
  } catch (error) { say("", false); stopped(error); }
});
document.getElementById("save").addEventListener("click", async () => {
  try {
    const response = await ask("/save", {...state(), name: name(), folder: document.getElementById("folder").value.trim()});
    const found = await response.json();
    say(response.ok ? "Saved in " + found.path : found.wrong, !response.ok);
  } catch (error) { say("", false); stopped(error); }
});

// The part of the address after # is the state: a reload, a link and the back button restore it.
const restore = () => {
  const said = new URLSearchParams(location.hash.slice(1)), wanted = [];
  for (const one of said.getAll("c")) {
    try {
      const parts = JSON.parse(one);
      if (Array.isArray(parts) && parts.length === 4 && parts.every(part => typeof part === "string")) wanted.push([keyOf(parts.slice(0, 3)), parts[3]]);
    } catch { /* a spoilt part of a link changes nothing */ }
  }
  start(said.get("scenario") || "base", wanted);
};
addEventListener("hashchange", () => { if (location.hash.startsWith("#scenario=") && location.hash !== link()) restore(); });
restore();
})();
