"use strict";
// Asks the server as the user types, and shows labels, times and the search.

const element = id => document.getElementById(id);
const BEAMS = [1, 2, 3, 5, 10, 20, 50, 100, null];
const AGREEMENTS = [null, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1];

let models = [], group = [], model = null, running = null, waiting = null;

async function call(path, body) {
  const headers = {"Content-Type": "application/json"};
  if (element("key").value) headers.Authorization = `Bearer ${element("key").value}`;
  const reply = await fetch(path, body === undefined ? {headers} : {method: "POST", headers, body: JSON.stringify(body)});
  const answer = await reply.json().catch(() => ({error: `the server answered with status ${reply.status}`}));
  if (reply.ok) return answer;
  if (reply.status === 401) element("key-field").hidden = false;
  throw new Error(answer.error);
}

function showProblem(message) {
  element("problem").hidden = !message;
  element("problem").textContent = message || "";
}

// The models of one sweep form a group: the slider moves between their tradeoffs.
function sameGroup(one, other) {
  return one === other || (one.sweep !== null && one.sweep === other.sweep && one.tradeoff !== null);
}

async function start() {
  try {
    const answer = await call("/v1/models");
    models = answer.models;
    if (answer.loading.length || !models.length) {
      showProblem(`Models are being loaded: ${answer.loading.join(", ")}`);
      setTimeout(start, 1000);
      if (!models.length) return;
    } else {
      showProblem(null);
    }
    element("model").replaceChildren(...models.map(one => new Option(one.name, one.name)));
    element("model-field").hidden = models.length < 2;
    chooseModel(models[0].name);
  } catch (error) {
    showProblem(error.message);
    if (element("key-field").hidden) setTimeout(start, 2000);
  }
}

function chooseModel(name) {
  model = models.find(one => one.name === name);
  element("model").value = name;
  element("about").textContent = `${model.n_labels.toLocaleString("en")} labels in a tree of ` +
    `${model.n_nodes.toLocaleString("en")} nodes, ${model.height} deep.`;
  for (const kind of ["text", "row"]) element(`${kind}-field`).hidden = model.reads !== kind;
  makeColumns();
  showExamples();
  group = models.filter(one => sameGroup(one, model)).sort((a, b) => a.tradeoff - b.tradeoff);
  element("tradeoff-field").hidden = group.length < 2;
  element("tradeoff").max = group.length - 1;
  element("tradeoff").value = group.findIndex(one => one.name === name);
  element("beam-field").hidden = !model.has_beam;
  element("beam").max = BEAMS.length - 1;
  const fitted = BEAMS.findIndex(beam => beam !== null && beam >= (model.beam || Infinity));
  element("beam").value = fitted < 0 ? BEAMS.length - 1 : fitted;
  element("beam").dataset.moved = "";  // until it is moved, the model's own search is used
  element("threshold-field").hidden = !model.has_probabilities;
  element("threshold").value = Math.round(100 * (model.threshold || 0));
  element("agreement-field").hidden = !model.has_agreement;
  element("agreement").max = AGREEMENTS.length - 1;
  element("agreement").value = 0;
  showMeasured();
  showRules();
  ask();
}

// Examples fit the model; a text that the user has typed stays.
function showExamples() {
  const text = element("text"), before = text.dataset.example;
  element("examples").replaceChildren(...model.examples.map(example => {
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: example});
    button.addEventListener("click", () => { text.value = text.dataset.example = example; ask(); });
    return button;
  }));
  if (!text.value || text.value === before) text.value = text.dataset.example = model.examples[0] || "";
}

// Switches for rules: the items of the question, and the sets that are stored on the server.
async function showRules() {
  const sets = (await call("/v1/sets").catch(() => ({sets: []}))).sets;
  const fill = (id, kind, none) => {
    const names = sets.filter(one => one.kind === kind).map(one => one.name);
    const before = element(id).value;
    element(id).replaceChildren(new Option(none, ""), ...names.map(name => new Option(name, `@${name}`)));
    if (names.includes(before.slice(1))) element(id).value = before;
    element(`${id}-field`).hidden = names.length === 0;
    return names.length > 0;
  };
  const has = [fill("candidates", "labels", "all labels"), fill("limits", "groups", "none"), model.has_items];
  element("seen-field").hidden = !model.has_items;
  element("rules").hidden = !has.some(Boolean);
}

function rules() {
  const chosen = {};
  if (model.has_items && element("exclude-seen").checked) chosen.exclude_seen = true;
  for (const id of ["candidates", "limits"]) if (element(id).value) chosen[id] = element(id).value;
  return chosen;
}

function makeColumns() {
  const columns = model.reads === "context" ? model.columns : model.reads === "items" ? ["items"] : [];
  const shown = element("columns").dataset;
  const wanted = JSON.stringify([columns, model.picks]);
  if (shown.made === wanted) return;  // a move along the tradeoff keeps what was picked
  shown.made = wanted;
  element("columns").replaceChildren(...columns.map(column => itemField(column, model.picks.includes(column), {
    find: text => call(`/v1/models/${model.name}/items`, {column, text}).then(answer => answer.items),
    changed: ask,
  })));
}

function showMeasured() {
  const shown = [["p1", "P@1"], ["p5", "P@5"], ["depth1", "expected depth"], ["top5_p50_us", "us per call"]];
  const known = shown.filter(([key]) => key in model.measured);
  element("measured").textContent = known.length === 0 ? "" :
    "Measured in the sweep: " + known.map(([key, name]) => `${name} ${model.measured[key].toPrecision(3)}`).join(", ");
}

function question() {
  if (model.reads === "text") return {text: element("text").value};
  const fields = [...element("columns").children].map(field => [field.dataset.column, itemValue(field)]);
  if (model.reads === "items") return {items: fields[0][1] || []};
  if (model.reads === "context") return {context: Object.fromEntries(fields.filter(([, value]) => value))};
  const pairs = element("row").value.split(/\s+/).filter(part => part).map(part => part.split(":").map(Number));
  if (pairs.some(pair => pair.length !== 2 || pair.some(Number.isNaN))) throw new Error("write features as index:value, such as 3:1 17:0.5");
  return {row: {indices: pairs.map(pair => pair[0]), values: pairs.map(pair => pair[1])}};
}

function options() {
  const k = Number(element("k").value);
  const agreement = model.has_agreement ? AGREEMENTS[element("agreement").value] : null;
  const beam = BEAMS[element("beam").value];
  element("k-value").textContent = k;
  element("agreement-value").textContent = agreement === null ? "off" : agreement === 1 ? "1 (exact)" : agreement;
  element("beam").disabled = agreement !== null;
  const given = rules(), isOwn = !element("beam").dataset.moved;
  const own = Object.keys(given).length ? "exact, because of rules" : model.beam === null ? "as fitted: exact" : `as fitted: ${model.beam}`;
  element("beam-value").textContent = agreement !== null ? "not used" : isOwn ? own : beam === null ? "no limit (exact)" : beam;
  element("tradeoff-value").textContent = model.tradeoff === null ? "" : model.tradeoff;
  const chosen = {k, path: !given.exclude_seen, probabilities: model.has_probabilities, ...given};
  const threshold = Number(element("threshold").value) / 100;
  element("threshold-value").textContent = threshold === 0 ? "none" : `${Math.round(100 * threshold)} %`;
  if (model.has_probabilities) chosen.threshold = threshold;
  if (agreement !== null) chosen.agreement = agreement;
  else if (model.has_beam && !isOwn) chosen.beam = beam;
  return chosen;
}

// At most one request at a time; of the inputs typed meanwhile, only the last is sent.
async function ask() {
  if (model === null) return;
  if (running) { waiting = true; return; }
  running = true;
  try {
    const answer = await call(`/v1/models/${model.name}/predict`, {...question(), ...options()});
    showProblem(null);
    showAnswer(answer);
  } catch (error) {
    showProblem(error.message);
  }
  running = null;
  if (waiting) { waiting = null; ask(); }
}

function showAnswer(answer) {
  const shown = answer.labels.map((label, place) => (answer.label_texts || [])[place] || String(label));
  element("answers").replaceChildren(...answer.labels.map((label, place) => answerLine(answer, shown[place], label, place)));
  element("summary").textContent = shown.length === 0 ? "No label was found." :
    `${shown.length} labels in ${answer.microseconds.toLocaleString("en")} microseconds. Best: ${shown[0]}.`;
  const unknown = answer.unknown || [];
  element("unknown").hidden = unknown.length === 0;
  element("unknown").textContent = `The model does not know ${unknown.join(", ")}.`;
  for (const button of document.querySelectorAll(".picked button")) {
    button.classList.toggle("unknown", unknown.includes(button.textContent));
  }
  showSearch(answer, shown);
}

function answerLine(answer, text, label, place) {
  const line = document.createElement("li");
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = text;
  if (text !== String(label)) name.append(Object.assign(document.createElement("small"), {textContent: label}));
  const above = (answer.broader || [])[place] || [];
  const unsure = answer.unsure ? "no narrower label is sure enough" : "";
  const more = [above.length ? `in ${above.join(", ")}` : "", unsure].filter(Boolean).join("; ");
  if (more) name.append(Object.assign(document.createElement("small"), {className: "broader", textContent: more}));
  const track = document.createElement("span");
  track.className = "track";
  track.setAttribute("aria-hidden", "true");
  const drawing = svgElement("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none"}, track);
  const value = answer.probabilities ? answer.probabilities[place] : answer.scores[place];
  svgElement("rect", {class: "bar", width: Math.max(value * 100, 0.5), height: 10}, drawing);
  const score = document.createElement("span");
  score.className = "score";
  score.textContent = answer.probabilities ? `${(value * 100).toFixed(1)} %` : value.toPrecision(3);
  score.title = `score ${answer.scores[place]}`;
  const why = Object.assign(document.createElement("button"), {type: "button", className: "why", textContent: "why?"});
  why.setAttribute("aria-expanded", "false");
  why.setAttribute("aria-label", `Why ${text}?`);
  why.addEventListener("click", () => explain(line, why, label));
  line.append(name, track, score, why);
  return line;
}

// Shows or hides the reasons for a label (blue) and against it (orange), below the label.
async function explain(line, why, label) {
  const shown = line.querySelector(".reasons");
  if (shown) { shown.remove(); why.setAttribute("aria-expanded", "false"); return; }
  try {
    const answer = await call(`/v1/models/${model.name}/explain`, {...question(), label});
    const reasons = Object.assign(document.createElement("p"), {className: "reasons"});
    reasons.append(...reasonsOf(answer.labels[0]));
    line.append(reasons);
    why.setAttribute("aria-expanded", "true");
    showProblem(null);
  } catch (error) {
    showProblem(error.message);
  }
}

function reasonsOf(own) {
  const text = own.words.length ? element("text").value : "";
  const parts = text ? own.words : own.contributions.filter(part => part.kind === "feature").map(part => ({text: part.name, ...part}));
  const largest = Math.max(...parts.map(part => Math.abs(part.amount)), 1e-9);
  const mark = part => {
    const word = Object.assign(document.createElement("mark"), {textContent: part.text});
    word.className = part.amount >= 0 ? "for" : "against";
    word.dataset.strength = Math.ceil(4 * Math.abs(part.amount) / largest);
    word.title = `${part.amount >= 0 ? "+" : ""}${part.amount.toFixed(3)}`;
    return word;
  };
  if (!text) return parts.slice(0, 30).flatMap(part => [mark(part), " "]);
  const shown = [];
  let at = 0;
  for (const part of parts) {
    shown.push(text.slice(at, part.start), mark(part));
    at = part.end;
  }
  shown.push(text.slice(at));
  return shown;
}

function showSearch(answer, shown) {
  const paths = answer.path || [];
  const opened = paths.reduce((sum, path) => sum + path.n_opened, 0);
  const all = paths.reduce((sum, path) => sum + path.n_nodes, 0);
  element("tree-summary").textContent = all === 0 ? "The search is not shown for this rule." : `${opened.toLocaleString("en")} of ${all.toLocaleString("en")} nodes were opened ` +
    `(${(100 * opened / all).toPrecision(2)} %); ${(all - opened).toLocaleString("en")} were left unopened. ` +
    "Numbers: order of opening. Below a node: its score, and how many of its children were opened.";
  const trees = element("trees");
  while (trees.children.length > paths.length) trees.lastChild.remove();
  while (trees.children.length < paths.length) {
    const box = document.createElement("div");
    box.className = "tree";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Tree ${trees.children.length + 1}`);
    trees.append(box);
  }
  paths.forEach((path, number) => drawTree(trees.children[number], path, shown, text => {
    element("node-details").textContent = text;
  }));
  showSteps(paths);
}

function showSteps(paths) {
  const head = ["step", "depth", "score", "labels below", "children", "some of its labels"];
  const rows = paths.flatMap(path => path.opened.map((node, place) => [
    place + 1, node.depth, node.score.toPrecision(3), node.n_labels.toLocaleString("en"), node.n_children, node.labels.join(", "),
  ]));
  const row = (cells, kind) => {
    const line = document.createElement("tr");
    line.append(...cells.map(text => Object.assign(document.createElement(kind), {textContent: text})));
    return line;
  };
  element("steps").replaceChildren(row(head, "th"), ...rows.map(cells => row(cells, "td")));
}

element("question").addEventListener("submit", event => event.preventDefault());
element("question").addEventListener("input", event => {
  if (event.target.id === "model") chooseModel(event.target.value);
  else if (event.target.id === "tradeoff") moveTo(group[event.target.value].name);
  else if (event.target.id === "key") start();
  else {
    if (event.target.id === "beam") event.target.dataset.moved = "yes";
    ask();
  }
});

// Moves along the tradeoff and keeps the other sliders where they are.
function moveTo(name) {
  const kept = ["beam", "agreement"].map(id => [id, element(id).value]), moved = element("beam").dataset.moved;
  chooseModel(name);
  for (const [id, value] of kept) element(id).value = value;
  element("beam").dataset.moved = moved;
  ask();
}

start();
