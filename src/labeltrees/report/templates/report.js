"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const state = { metric: data.metrics[0].name, curve: null, at: null, example: data.firstExample, sort: null, falling: false };
  const opened = new Map();  // nodes of the picture that the user unfolded or folded
  const colours = () => (dark.matches ? data.darkColours : data.colours);
  const views = {};

  // Names come from the data, so they are only set as text, never as HTML.
  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function option(value, text) {
    const made = element("option", text);
    made.value = value;
    return made;
  }
  function number(value, digits) {
    if (value === null || value === undefined) return "-";
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  function count(value, noun) {
    return number(value, 0) + " " + noun + (value === 1 ? "" : "s");
  }
  function cell(column, value) {
    if (value === null || value === undefined) return "-";
    if (typeof value === "string") return value;
    if (column.percent) return number(100 * value, 2);
    if (column.name === "tradeoff") return String(Math.round(value * 1e4) / 1e4);
    return number(value, Number.isInteger(value) ? 0 : 2);
  }
  const record = (name) => data.table.find((row) => row.setting === name);
  const curveOf = (name) => data.table.filter((row) => row.series === name).sort((a, b) => a.tradeoff - b.tradeoff);
  const tradeoffText = (row) => String(Math.round(row.tradeoff * 1e4) / 1e4);

  // Charts.
  function style() {
    const text = dark.matches ? "#e4e8ec" : "#1b1f24";
    const line = dark.matches ? "#38424c" : "#d5dae0";
    const axis = { labelColor: text, titleColor: text, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 13 };
    return { background: "transparent", font: "sans-serif", view: { stroke: null }, axis: axis,
      legend: { labelColor: text, titleColor: text, labelFontSize: 12, labelLimit: 240 },
      title: { color: text, subtitleColor: text, fontSize: 14, anchor: "start" },
      header: { labelColor: text, titleColor: text }, range: { category: colours() } };
  }
  const room = (id) => byId("chart-" + id).clientWidth;
  function draw(id, spec) {
    return vegaEmbed("#chart-" + id, spec, { actions: false, renderer: "svg", config: style() }).then((result) => {
      views[id] = result.view;
      return result;
    });
  }
  function drawCurves() {
    return Promise.all(["depth", "time"].map((id) => draw(id, curves(data.curves[state.metric][id], room(id))))).then(mark);
  }
  function curves(chart, width) {
    if (width >= 490) return chart.spec;
    const spec = JSON.parse(JSON.stringify(chart.spec));
    spec.width = chart.narrow;
    spec.data.values.forEach((row, place) => { [row.name_x, row.name_y] = chart.names[place]; });
    return spec;
  }
  // Charts keep room for the names of the axis at their left.
  function fitted(name) {
    const spec = JSON.parse(JSON.stringify(data.charts[name]));
    const width = Math.min(440, room(name) - (spec.spec ? 90 : 70));
    (spec.spec || spec).width = width;
    return spec;
  }
  function drawAll() {
    const others = Object.keys(data.charts).map((name) => draw(name, fitted(name)));
    return Promise.all([drawCurves()].concat(others));
  }
  function mark() {
    const at = state.at;
    const charts = ["depth", "time"].filter((id) => views[id]);
    return Promise.all(charts.map((id) => views[id].signal("at", at).runAsync())).then(() => { document.body.dataset.marked = at; });
  }

  // The selected setting.
  const columnOf = (name) => data.columns.find((column) => column.name === name);
  function measured(row, name) {
    const made = element("td", null, "number");
    if (name === null || row[name] === undefined) return made;
    if (name === "model_bytes") {
      made.textContent = number(row[name] / 1e6, 1);
      return made;
    }
    made.textContent = cell(columnOf(name), row[name]);
    const bounds = (data.settings[row.setting].intervals || {})[name];
    if (bounds) {
      const text = "  " + bounds.map((bound) => number(100 * bound, 1)).join(" to ");
      made.append(document.createElement("br"), element("span", text, "interval"));
    }
    return made;
  }
  function showFigures(row) {
    byId("setting-name").textContent = row.series + ", tradeoff " + tradeoffText(row);
    byId("figures").replaceChildren(...data.groups.map((group) => {
      const table = element("table");
      const head = element("tr");
      head.append(element("th", ""), ...group.heads.map((text) => element("th", text, "number")));
      table.append(element("caption", group.title), head);
      for (const [name, columns] of group.rows) {
        const line = element("tr");
        line.append(element("td", name), ...columns.map((column) => measured(row, column)));
        table.append(line);
      }
      return table;
    }));
  }
  function mass(value) {
    return number(100 * value, value < 0.001 ? 3 : 1) + " %";
  }
  // The picture of the tree: one row per node or label. A circle's area is its mass.
  const ROW = 26, STEP = 30, CHARACTER = 7.4;
  function shape(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name of Object.keys(attributes)) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  const canOpen = (node) => node.name === undefined && node.children !== undefined && node.children.length > 0;
  function isOpen(node, isFirst) {
    const key = state.at + "/" + node.node;
    return canOpen(node) && (opened.has(key) ? opened.get(key) : node.depth === 0 || isFirst);
  }
  function treeRows(node, above, hue, isFirst, rows) {
    const row = { node: node, above: above, hue: hue, y: ROW * (rows.length + 0.5), x: 14 + STEP * node.depth,
      open: isOpen(node, isFirst) };
    rows.push(row);
    if (!row.open) return;
    const first = node.depth === 0 ? node.children.find(canOpen) : null;
    node.children.forEach((child, place) => {
      treeRows(child, row, node.depth === 0 ? colours()[place % 6] : hue, child === first, rows);
    });
    if (node.n_more_labels > 0) {
      rows.push({ node: { mass: node.mass_of_more, more: node.n_more_labels }, above: row, hue: "var(--line)",
        y: ROW * (rows.length + 0.5), x: row.x + STEP, open: false });
    }
  }
  function treeText(row) {
    const node = row.node;
    if (node.more !== undefined) return ["", count(node.more, "more label") + ", " + mass(node.mass)];
    if (node.name !== undefined) return [node.name, mass(node.mass)];
    const sign = !canOpen(node) ? "" : (row.open ? "\u25BE " : "\u25B8 ");
    const names = node.node === 0 ? "root" : row.open ? "node " + node.node : node.examples.join(", ") + ", \u2026";
    return [sign + names, count(node.n_labels, "label") + ", " + mass(node.mass)];
  }
  function treeItem(row, details, room) {
    const node = row.node, isLabel = node.name !== undefined;
    const group = shape("g", canOpen(node) ? { tabindex: 0, role: "button", "aria-expanded": row.open } : {});
    const radius = 2.5 + 8.5 * Math.sqrt(node.mass / details.top.mass);
    group.append(shape("circle", { cx: row.x, cy: row.y, r: radius.toFixed(1), fill: isLabel ? row.hue : "var(--back)",
      stroke: row.hue, "stroke-width": 2 }));
    const [name, facts] = treeText(row);
    const start = row.x + Math.max(radius, 6) + 6;
    const fits = Math.max(8, Math.floor((room - start) / CHARACTER) - facts.length - 2);
    const shown = name.length > fits ? name.slice(0, fits - 1) + "\u2026" : name;
    const text = shape("text", { x: start, y: row.y + 5 });
    text.append(shape("tspan", isLabel ? { "font-weight": "bold" } : {}, shown),
      shape("tspan", { dx: shown ? 8 : 0, class: "dim" }, facts));
    group.append(shape("title", {}, name + " (" + facts + ")"), text);
    if (canOpen(node)) {
      const toggle = () => {
        opened.set(state.at + "/" + node.node, !row.open);
        showTop(details);
        byId("top").querySelector("[data-node='" + node.node + "']").focus();
      };
      group.dataset.node = node.node;
      group.addEventListener("click", toggle);
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    }
    return group;
  }
  function showTop(details) {
    const rows = [], room = byId("top").clientWidth;
    treeRows(details.top, null, "var(--dim)", false, rows);
    const picture = shape("svg", { width: room, height: ROW * rows.length, role: "group", "aria-label": "The top of the tree" });
    for (const row of rows) {
      if (!row.above) continue;
      const path = "M" + row.above.x + "," + row.above.y + "V" + row.y + "H" + row.x;
      picture.append(shape("path", { d: path, fill: "none", stroke: "var(--line)", "stroke-width": 1.5 }));
    }
    picture.append(...rows.map((row) => treeItem(row, details, room)));
    byId("top").replaceChildren(picture);
  }
  function showLevels(details) {
    const table = byId("levels");
    table.replaceChildren();
    const head = element("tr");
    for (const text of ["depth", "labels", "", "mass", ""]) head.append(element("th", text));
    table.append(head);
    const most = Math.max.apply(null, details.labels_per_depth);
    details.labels_per_depth.forEach((count, depth) => {
      if (depth === 0) return;
      const line = element("tr");
      line.append(element("td", depth, "number"), element("td", number(count, 0), "number"), bar(count / most),
        element("td", mass(details.mass_per_depth[depth]), "number"), bar(details.mass_per_depth[depth]));
      table.append(line);
    });
  }
  function bar(share) {
    const made = element("td", null, "bar");
    const inner = element("div");
    inner.style.width = 100 * share + "%";
    made.append(inner);
    return made;
  }

  // The example search.
  function showExample(details) {
    const example = data.examples[state.example];
    const search = details.looks[state.example];
    byId("example-text").textContent = example.text;
    const answers = byId("answers");
    answers.replaceChildren();
    const head = element("tr");
    for (const text of ["label", "score", "correct", "depth"]) head.append(element("th", text));
    answers.append(head);
    for (const answer of search.answers) {
      const line = element("tr");
      line.append(element("td", answer.name), element("td", number(answer.score, 3), "number"),
        element("td", answer.right ? "\u2713" : ""), element("td", answer.depth, "number"));
      answers.append(line);
    }
    byId("work").textContent = count(search.chunks, "node") + " opened, " + count(search.classifiers, "classifier") +
      " evaluated. True labels: " + example.labels.join(", ") + ".";
    byId("visits").replaceChildren(visited(search));
  }
  function visited(search) {
    const order = new Map(search.visits.map((visit, place) => [visit[0], { place: place + 1, score: visit[1] }]));
    const lists = new Map();
    const ids = Object.keys(search.nodes).map(Number);
    const rank = (id) => (order.has(id) ? order.get(id).place : 1e9 + id);
    ids.sort((a, b) => rank(a) - rank(b));
    const root = element("ul");
    // A parent may come later in the order of visits: make all items first, then nest them.
    const items = new Map(ids.map((id) => [id, nodeItem(id, search.nodes[id], order.get(id))]));
    for (const id of ids) {
      const list = element("ul");
      lists.set(id, list);
      items.get(id).append(list);
    }
    for (const place of places(search)) {
      if (lists.has(place.node)) lists.get(place.node).append(place.item);
    }
    for (const id of ids) {
      const parent = search.nodes[id].parent;
      (lists.get(parent) || root).append(items.get(id));
    }
    return root;
  }
  function places(search) {
    const made = [];
    const returned = new Set(search.answers.map((answer) => answer.name));
    for (const answer of search.answers) made.push(labelItem(answer, answer.right ? " \u2713 returned, correct" : " \u2717 returned, wrong"));
    for (const label of search.labels) {
      if (!returned.has(label.name)) made.push(labelItem(label, label.depth === null ? " not in the tree" : " \u25CB true, not returned"));
    }
    return made;
  }
  function labelItem(label, text) {
    const item = element("li");
    item.append(element("span", label.name, "label"), element("span", text, "dim"));
    return { node: label.path.length ? label.path[label.path.length - 1] : 0, item: item };
  }
  function nodeItem(id, node, visit) {
    const item = element("li", null, visit ? "visited" : "");
    const name = id === 0 ? "root" : "node " + id;
    const examples = id === 0 ? "" : " (" + node.examples.join(", ") + (node.n_labels > node.examples.length ? ", ..." : "") + ")";
    const note = visit ? "visit " + visit.place + ", score " + number(visit.score, 3) : "not visited";
    item.append(element("span", name), element("span", examples + "  " + count(node.n_labels, "label") + ", " + note, "dim"));
    return item;
  }

  // The table of all settings.
  function fillTable() {
    const body = byId("settings").tBodies[0];
    const rows = data.table.slice();
    if (state.sort) {
      const key = state.sort;
      const sign = state.falling ? -1 : 1;
      rows.sort((a, b) => {
        const x = a[key], y = b[key];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
      });
    }
    body.replaceChildren();
    for (const row of rows) {
      const line = element("tr");
      line.dataset.setting = row.setting;
      if (row.setting === data.chosen) line.classList.add("chosen");
      for (const column of data.columns) {
        line.append(element("td", cell(column, row[column.name]), typeof row[column.name] === "string" ? "" : "number"));
      }
      line.tabIndex = 0;
      line.addEventListener("click", () => go(row.setting));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") go(row.setting); });
      body.append(line);
    }
    markRow();
  }
  function markRow() {
    for (const line of byId("settings").tBodies[0].rows) line.classList.toggle("at", line.dataset.setting === state.at);
  }
  function makeHead() {
    const head = element("tr");
    for (const column of data.columns) {
      const heading = element("th", null, "number");
      heading.scope = "col";
      heading.dataset.column = column.name;
      const button = element("button", column.title);
      button.type = "button";
      button.addEventListener("click", () => {
        state.falling = state.sort === column.name ? !state.falling : false;
        state.sort = column.name;
        for (const other of head.cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", state.falling ? "descending" : "ascending");
        fillTable();
      });
      heading.append(button);
      head.append(heading);
    }
    byId("settings").tHead.append(head);
  }
  function showFacts() {
    for (const [name, text] of data.facts) {
      const line = element("tr");
      line.append(element("th", name), element("td", text));
      byId("facts").append(line);
    }
  }

  function showBaselines() {
    const table = byId("baselines");
    if (data.baselines.rows.length === 0) {
      byId("baselines-section").hidden = true;
      return;
    }
    byId("baselines-note").textContent = data.baselines.note;
    const head = element("tr");
    for (const text of data.baselines.columns) head.append(element("th", text, "number"));
    table.append(head);
    data.baselines.rows.forEach((texts, place) => {
      const line = element("tr", null, place === 0 ? "chosen" : "");
      const [name, ...cells] = texts;
      line.append(element("td", name));
      for (const [value, interval] of cells) {
        const cell = element("td", value, "number");
        cell.append(document.createElement("br"), element("span", interval, "interval"));
        line.append(cell);
      }
      table.append(line);
    });
  }

  // Selecting a setting.
  function go(setting) {
    const row = record(setting);
    state.at = setting;
    if (state.curve !== row.series) {
      state.curve = row.series;
      byId("curve").value = row.series;
    }
    const rows = curveOf(state.curve);
    const slider = byId("tradeoff");
    slider.closest("label").style.display = rows.length > 1 ? "" : "none";  // one tradeoff needs no slider
    slider.max = rows.length - 1;
    slider.value = rows.findIndex((other) => other.setting === setting);
    byId("tradeoff-ticks").replaceChildren(...rows.map((other, place) => option(place, tradeoffText(other))));
    byId("tradeoff-value").textContent = tradeoffText(row);
    showFigures(row);
    showTop(data.settings[setting]);
    showLevels(data.settings[setting]);
    if (data.examples.length) showExample(data.settings[setting]);
    markRow();
    return mark();
  }
  function start() {
    byId("metric").append(...data.metrics.map((metric) => option(metric.name, metric.title)));
    if (data.table.length < 2) {  // one setting needs no chart
      ["chart-depth", "chart-time"].forEach((id) => { byId(id).style.display = "none"; });
      byId("curve").closest("label").style.display = "none";
    }
    byId("curve").append(...Array.from(new Set(data.table.map((row) => row.series))).map((name) => option(name, name)));
    byId("example").append(...data.examples.map((example, place) => option(place, example.text.slice(0, 90) || "point " + example.row)));
    byId("metric").addEventListener("change", (event) => { state.metric = event.target.value; drawCurves(); });
    byId("curve").addEventListener("change", (event) => {
      const rows = curveOf(event.target.value);
      const same = rows.find((row) => row.tradeoff === record(state.at).tradeoff);
      go((same || rows[0]).setting);
    });
    byId("tradeoff").addEventListener("input", (event) => go(curveOf(state.curve)[Number(event.target.value)].setting));
    byId("example").addEventListener("change", (event) => {
      state.example = Number(event.target.value);
      showExample(data.settings[state.at]);
    });
    makeHead();
    fillTable();
    showFacts();
    showBaselines();
    byId("example").value = String(state.example);
    byId("why").hidden = byId("why").querySelector("p").textContent === "";
    go(data.start);
    dark.addEventListener("change", () => {
      showTop(data.settings[state.at]);
      drawAll();
    });
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;  // a phone changes its height while the user scrolls
      width = window.innerWidth;
      showTop(data.settings[state.at]);
      drawAll();
    });
    drawAll().then(() => { document.body.dataset.ready = "yes"; });
  }
  start();
})();
