// Layout: each open region is laid out by dagre with its children as boxes, the inner ones first.
// Regions of one structure (the layers of a network) are laid out once.
"use strict";

const MARGIN = 14;
const HEADER = 26;
const LINE = 15;
const PATIENCE = 12; // ms of work between two frames
const LAID_OUT = new Map();
const MEASURED = new Map();
const RULER = document.createElement("canvas").getContext("2d");

function textWidth(text, font) {
  const key = font + text;
  let found = MEASURED.get(key);
  if (found === undefined) {
    RULER.font = font;
    MEASURED.set(key, (found = RULER.measureText(text).width));
  }
  return found;
}

function frame() {
  return new Promise((done) => requestAnimationFrame(done));
}

/** The lines in the box of a closed item. */
function linesOf(model, item) {
  if (item >= 0) {
    const node = model.nodes[item];
    const label = model.label(item);
    return label === node.name ? [label] : [label, node.name];
  }
  const region = model.regions[-1 - item];
  const count = `${region.operators} operator${region.operators === 1 ? "" : "s"}`;
  return [region.label, region.detail ? `${region.detail} · ${count}` : count];
}

function boxOf(model, item) {
  const lines = linesOf(model, item);
  const chevron = item < 0 ? 22 : 0;
  const widths = lines.map((line, i) => textWidth(shortened(line), i ? SMALL : BOLD));
  // Rounded up, so that regions of one structure are alike whatever their nodes' numbers.
  const width = 12 * Math.ceil((Math.max(48, ...widths) + 20 + chevron) / 12);
  // Below a node stands the type of its value, which may be wider.
  const isUsed = item >= 0 && model.users[item].length;
  const type = isUsed ? shortened(model.sizes.texts(model.nodes[item].types, false)) : "";
  const slot = Math.max(width, Math.min(width + 48, 12 * Math.ceil((textWidth(type, SMALL) + 6) / 12)));
  return { width, slot, height: lines.length * LINE + 12, lines: lines.map(shortened) };
}

function shortened(text) {
  return text.length > 44 ? `${text.slice(0, 42)}…` : text;
}

/** Place boxes in layers: their centres, the ways of the edges, and the size of the whole.

Edges are pairs of indices: "top" and "bottom" stand for where edges come in and go out. */
function placed(boxes, edges) {
  const key = JSON.stringify([boxes.map((box) => [box.slot, box.height]), edges]);
  let found = LAID_OUT.get(key);
  if (found) return found;
  const graph = new dagre.graphlib.Graph()
    .setGraph({ nodesep: 16, ranksep: 40, edgesep: 10, ranker: boxes.length > 40 ? "tight-tree" : "network-simplex" })
    .setDefaultEdgeLabel(() => ({ weight: 1 }));
  boxes.forEach((box, i) => graph.setNode(String(i), { width: box.slot, height: box.height }));
  for (const port of ["top", "bottom"]) {
    if (edges.some((edge) => edge.includes(port))) graph.setNode(port, { width: 1, height: 1 });
  }
  for (const [a, b] of edges) graph.setEdge(String(a), String(b));
  if (graph.hasNode("top")) {
    // What has no other input stands below the top, too: so that the top comes first.
    const fed = new Set(edges.map(([, b]) => b));
    boxes.forEach((_, i) => fed.has(i) || graph.setEdge("top", String(i), { weight: 0 }));
  }
  // Fewer crossings cost twice the time where there is much to lay out.
  dagre.layout(graph, { disableOptimalOrderHeuristic: boxes.length > 30 });
  const { width, height } = graph.graph();
  const ways = edges.map(([a, b]) => straightened(graph.edge(String(a), String(b)).points));
  // Edges may bend to where no box is.
  const [left, , right] = boundsOf([[0, 0], [boxes.length ? width : 40, 0], ...ways.flat()]);
  for (const point of ways.flat()) point[0] -= left;
  const port = (name) => (graph.hasNode(name) ? graph.node(name).x - left : null);
  found = {
    width: right - left,
    height: boxes.length ? height : 20,
    centers: boxes.map((_, i) => graph.node(String(i))).map(({ x, y }) => ({ x: x - left, y })),
    ways,
    top: port("top"),
    bottom: port("bottom"),
    margins: 2 - graph.hasNode("top") - graph.hasNode("bottom"),
  };
  LAID_OUT.set(key, found);
  return found;
}

/** The points of a way, without those in the midst of a vertical run. */
function straightened(points) {
  const kept = points.filter(({ x }, i) => {
    const [before, after] = [points[i - 1], points[i + 1]];
    return !before || !after || Math.abs(before.x - x) > 0.5 || Math.abs(after.x - x) > 0.5;
  });
  return kept.map(({ x, y }) => [x, y]);
}

/** The steps of an edge from region to region: out of open ones, across, and into open ones. */
function stepsOf(model, { from, to, a, b, region }) {
  const steps = [];
  for (let item = from; item !== a; item = -1 - model.parent(item)) {
    steps.push([model.parent(item), item, "bottom"]);
  }
  steps.push([region, a, b]);
  const inwards = [];
  for (let item = to; item !== b; item = -1 - model.parent(item)) {
    inwards.push([model.parent(item), "top", item]);
  }
  return [...steps, ...inwards.reverse()];
}

/** Lay out all that is open; resolves to items with their places and edges with their ways. */
async function laidOut(model, isCurrent) {
  const edges = model.edges();
  const within = new Map();
  for (const edge of edges) {
    edge.steps = stepsOf(model, edge);
    for (const [region, a, b] of edge.steps) {
      if (!within.has(region)) within.set(region, new Map());
      within.get(region).set(`${a} ${b}`, [a, b]);
    }
  }
  const order = [];
  const collect = (region) => {
    for (const item of model.children(region)) if (model.isOpen(item)) collect(-1 - item);
    order.push(region);
  };
  collect(0);
  const done = new Map();
  let since = performance.now();
  for (const region of order) {
    if (performance.now() - since > PATIENCE) {
      await frame();
      if (!isCurrent()) return null;
      since = performance.now();
    }
    done.set(region, regionLaidOut(model, region, within.get(region) ?? new Map(), done));
  }
  return inPlace(model, done, edges);
}

function regionLaidOut(model, region, pairs, done) {
  const items = model.children(region);
  const boxes = items.map((item) => (model.isOpen(item) ? done.get(-1 - item).box : boxOf(model, item)));
  const index = new Map(items.map((item, i) => [item, i]));
  const indexed = [...pairs.values()].map((pair) => pair.map((each) => index.get(each) ?? each));
  const found = placed(boxes, indexed);
  // The title stands beside the edges that come in from the top.
  const header = region === 0 || found.top !== null ? 0 : HEADER;
  const width = Math.max(found.width + 2 * MARGIN, titleWidth(model, region) + 20);
  return {
    items, boxes, found, header,
    ways: new Map([...pairs.keys()].map((key, i) => [key, found.ways[i]])),
    inset: (width - found.width) / 2,
    box: { width, slot: width, height: found.height + header + found.margins * MARGIN, lines: [] },
  };
}

function titleWidth(model, region) {
  const { label, detail } = titleOf(model.regions[region]);
  return textWidth(label, BOLD) + (detail ? 10 + textWidth(detail, SMALL) : 0);
}

/** The title of an open region, and what stands beside it in small. */
function titleOf({ label, detail, kind }) {
  return { label: `▾ ${shortened(label)}`, detail: kind === "section" ? "" : shortened(detail) };
}

/** Coordinates of the whole graph, out of those within regions. */
function inPlace(model, done, edges) {
  const items = new Map();
  const origins = new Map();
  const put = (region, x, y) => {
    const { items: children, boxes, found, inset, header } = done.get(region);
    const [left, top] = [x + inset, y + (found.top === null ? MARGIN : 0) + header];
    origins.set(region, [left, top]);
    children.forEach((item, i) => {
      const { width, height, lines } = boxes[i];
      const place = {
        item, lines, width, height,
        x: left + found.centers[i].x - width / 2,
        y: top + found.centers[i].y - height / 2,
        open: model.isOpen(item),
        family: model.family(item),
      };
      items.set(item, place);
      if (place.open) put(-1 - item, place.x, place.y);
    });
  };
  put(0, 0, 0);
  // Edges that share a step share its way, which is drawn once.
  const ways = new Map();
  const wayOf = ([region, a, b]) => {
    const key = `${region} ${a} ${b}`;
    let found = ways.get(key);
    if (!found) {
      const [left, top] = origins.get(region);
      const points = done.get(region).ways.get(`${a} ${b}`).map(([x, y]) => [x + left, y + top]);
      // Edges leave boxes at their lower side and come in at the upper one.
      const dock = (item, [at], side) => {
        const place = items.get(item);
        const y = place.y + side * place.height;
        if (!place.open) return [Math.min(place.x + place.width - 8, Math.max(place.x + 8, at)), y];
        return [origins.get(-1 - item)[0] + done.get(-1 - item).found[side ? "bottom" : "top"], y];
      };
      if (a !== "top") points[0] = dock(a, points[0], 1);
      if (b !== "bottom") points.push(dock(b, points.pop(), 0));
      found = { points, bounds: boundsOf(points), ends: b !== "bottom" && !items.get(b).open, edges: [] };
      ways.set(key, found);
    }
    return found;
  };
  for (const edge of edges) {
    edge.ways = edge.steps.map(wayOf);
    for (const way of edge.ways) way.edges.push(edge);
  }
  const { width, height } = done.get(0).box;
  return { items, edges, ways: [...ways.values()], width, height };
}

function boundsOf(points) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return [left, top, right, bottom];
}
