"use strict";
// Draws the nodes that a search opened: one row per depth, numbered in the order in which they were opened.

const SVG = "http://www.w3.org/2000/svg";
const ROW = 92, WIDTH = 78, LABEL_WIDTH = 124, MARGIN = 30;

function svgElement(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.appendChild(element);
  return element;
}

function shorten(text, length) {
  return text.length <= length ? text : text.slice(0, length - 1) + "…";
}

// Returns the opened nodes as a tree. The children of each node are in the order of opening, and then its answers.
function arrange(path, labels) {
  const nodes = new Map();
  path.opened.forEach((node, order) => nodes.set(node.node, {...node, order: order + 1, children: [], taken: false}));
  let root = null;
  for (const node of nodes.values()) {
    const parent = nodes.get(node.parent);
    if (parent) parent.children.push(node); else if (root === null) root = node;
  }
  path.answers.forEach((above, place) => {
    const parent = nodes.get(above[above.length - 1]);
    if (!parent) return;
    parent.children.push({answer: labels[place], place, children: [], depth: parent.depth + 1});
    above.forEach(id => { if (nodes.has(id)) nodes.get(id).taken = true; });
  });
  return root;
}

// Gives every leaf its own column, and every other node the middle of its children. Returns the width and the depth.
function layOut(root) {
  let x = MARGIN, deepest = 0;
  const place = node => {
    deepest = Math.max(deepest, node.depth);
    if (node.children.length === 0) {
      const width = node.answer === undefined ? WIDTH : LABEL_WIDTH;
      node.x = x + width / 2;
      x += width;
      return;
    }
    node.children.forEach(place);
    node.x = (node.children[0].x + node.children[node.children.length - 1].x) / 2;
  };
  place(root);
  return {width: x + MARGIN, depth: deepest};
}

function describe(node) {
  const some = node.labels.slice(0, 8).join(", ");
  const more = node.n_labels - Math.min(node.labels.length, 8);
  return `Node ${node.order} in order of opening: score ${node.score.toPrecision(3)}, depth ${node.depth}, ` +
    `${node.n_labels.toLocaleString("en")} labels below (${some}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}).`;
}

function drawTree(container, path, labels, onNode) {
  container.replaceChildren();
  const root = arrange(path, labels);
  if (!root) return;
  const {width, depth} = layOut(root);
  const height = depth * ROW + 76;
  const svg = svgElement("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group"}, container);
  svg.style.minWidth = `${0.6 * width}px`;  // it shrinks to fit as long as it can be read, then it scrolls
  svg.setAttribute("aria-label", `${path.opened.length} nodes in the order of opening; the answers are at the bottom`);
  const edges = svgElement("g", {"aria-hidden": "true"}, svg);
  const y = node => 28 + node.depth * ROW;
  const all = [];
  const draw = node => {
    for (const child of node.children) {
      const middle = (y(node) + y(child)) / 2;
      const taken = child.answer !== undefined || child.taken;
      svgElement("path", {class: taken ? "edge taken" : "edge",
        d: `M${node.x},${y(node)} C${node.x},${middle} ${child.x},${middle} ${child.x},${y(child)}`}, edges);
    }
    if (node.answer !== undefined) {
      const group = svgElement("g", {class: "answer", "aria-hidden": "true"}, svg);
      svgElement("rect", {x: node.x - LABEL_WIDTH / 2 + 4, y: y(node) - 12, width: LABEL_WIDTH - 8, height: 24, rx: 5}, group);
      svgElement("text", {x: node.x, y: y(node) + 4}, group).textContent = shorten(`${node.place + 1} ${node.answer}`, 16);
    } else {
      const radius = 9 + 2.2 * Math.log10(node.n_labels + 1);
      const group = svgElement("g", {class: "node", role: "img", tabindex: all.length === 0 ? "0" : "-1"}, svg);
      group.setAttribute("aria-label", describe(node));
      // Likely nodes are strong, unlikely ones pale; the number is dark or light for contrast in both.
      svgElement("circle", {cx: node.x, cy: y(node), r: radius}, group);
      svgElement("text", {x: node.x, y: y(node) + 4}, group).textContent = node.order;
      const opened = node.children.filter(child => child.answer === undefined).length;
      const rest = svgElement("text", {class: "rest", x: node.x, y: y(node) + radius + 13}, group);
      rest.textContent = `${node.score.toPrecision(2)} · ${opened}/${node.n_children}`;
      group.addEventListener("mouseenter", () => onNode(describe(node)));
      group.addEventListener("focus", () => onNode(describe(node)));
      node.element = group;
      all.push(node);
    }
    node.children.forEach(draw);
  };
  draw(root);
  moveWithArrows(all);
  container.scrollLeft = root.x - container.clientWidth / 2;
}

// One stop of the Tab key for the whole tree; the arrow keys move in the order of opening.
function moveWithArrows(nodes) {
  nodes.sort((a, b) => a.order - b.order);
  const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
  nodes.forEach((node, place) => node.element.addEventListener("keydown", event => {
    const next = nodes[place + (steps[event.key] || 0)];
    if (!(event.key in steps) || !next) return;
    event.preventDefault();
    node.element.setAttribute("tabindex", "-1");
    next.element.setAttribute("tabindex", "0");
    next.element.focus();
  }));
}
