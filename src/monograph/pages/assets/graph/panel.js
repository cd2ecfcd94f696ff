// The panel beside the graph: the selected item, the contract, the weights, the report.
// Text goes into the page as text nodes alone, whatever is in it.
"use strict";

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

function tableOf(rows, heads = null) {
  const row = (tag) => (cells) => element("tr", null, ...cells.map((cell) => element(tag, null, cell)));
  return element(
    "div", { class: "wide" },
    element("table", null, ...(heads ? [row("th")(heads)] : []), ...rows.map(row("td"))),
  );
}

function folded(title, open, ...children) {
  return element("details", { open }, element("summary", null, title), ...children);
}

const LIBRARY = /^(torch\/|.*\/site-packages\/torch\/|<)/;

class Panel {
  constructor(holder, page) {
    this.holder = holder;
    this.page = page;
    this.tab = "selection";
    this.body = element("div", { id: "panel-body", role: "tabpanel", tabindex: "-1" });
    const tabs = ["selection", "contract", "weights", "report"].map((name) =>
      element("button", { type: "button", role: "tab", "data-tab": name, click: () => this.open(name) }, name),
    );
    const close = element("button", { type: "button", class: "close", "aria-label": "close", click: () => this.close() }, "×");
    this.tabs = element("div", { role: "tablist" }, ...tabs, close);
    holder.append(this.tabs, this.body);
  }

  open(name) {
    this.tab = name;
    this.holder.hidden = false;
    this.fill();
  }

  close() {
    this.holder.hidden = true;
  }

  fill() {
    for (const each of this.tabs.querySelectorAll("[role=tab]")) {
      each.setAttribute("aria-selected", String(each.dataset.tab === this.tab));
    }
    const { view } = this.page;
    const { program } = view.model;
    const parts = {
      selection: () => this.selection(view),
      contract: () => this.contract(view.model),
      weights: () => this.weights(view, program),
      report: () => [element("pre", null, program.report)],
    }[this.tab]();
    this.body.replaceChildren(...parts);
    this.body.scrollTop = 0;
  }

  selection(view) {
    const { selected, model } = view;
    if (selected === null) return this.overview(model);
    return selected < 0 ? this.region(view, selected) : this.node(view, selected);
  }

  overview(model) {
    const legend = [
      ["heavy", "products, convolutions, attention"], ["call", "other operators"],
      ["moving", "views, copies, constants"], ["input", "inputs and outputs"],
      ["module", "modules"], ["branch", "branches"], ["loop", "loops and other regions"],
    ].map(([name, text]) => element("li", null, element("span", { class: `swatch ${name}` }), text));
    const keys = [
      ["/", "search"], ["enter", "open or close"], ["↑ ↓", "to producers, to users"],
      ["← →", "to neighbours"], ["backspace", "to what is around"], ["f", "fit"], ["+ −", "zoom"],
      ["c", "close all"], ["esc", "deselect"],
    ].map(([key, text]) => element("li", null, element("kbd", null, key), text));
    return [
      element("h2", null, model.program.title),
      element("p", null, model.program.summary),
      element("p", { class: "faint" }, "Click a node for its line, guards and sizes; double-click a region to open it."),
      element("ul", { class: "legend" }, ...legend),
      element("ul", { class: "legend" }, ...keys),
    ];
  }

  region(view, item) {
    const { model } = view;
    const region = model.regions[-1 - item];
    const counts = new Map();
    const count = (r) => {
      for (const child of model.regions[r].children) {
        if (child < 0) count(-1 - child);
        else if (model.nodes[child].kind === "call") counts.set(model.label(child), (counts.get(model.label(child)) ?? 0) + 1);
      }
    };
    count(-1 - item);
    const rows = [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => [name, String(n)]);
    const words = model.open.has(-1 - item) ? "close" : "open";
    return [
      element("p", { class: "path" }, model.path(item)),
      element("h2", null, region.label),
      element("p", null, [region.detail, region.kind, `${region.operators} operators`].filter(Boolean).join(" · ")),
      element("button", { type: "button", click: () => this.page.toggle(view, item) }, `${words} (enter)`),
      folded("operators", true, tableOf(rows)),
    ];
  }

  node(view, item) {
    const { model } = view;
    const node = model.nodes[item];
    const operator = node.operator < 0 ? null : model.program.operators[node.operator];
    return [
      element("p", { class: "path" }, model.path(item)),
      element("h2", null, model.label(item), " ", element("small", null, node.name)),
      ...this.values(view, item, node),
      ...this.lines(model, item),
      ...this.guards(model, item, node),
      ...(node.arguments.length ? [folded("arguments", true, tableOf(node.arguments))] : []),
      ...(operator ? [this.operator(operator)] : []),
      ...this.counterparts(view, node),
    ];
  }

  values(view, item, node) {
    const { model } = view;
    const { sizes } = model;
    const row = (name, each) => {
      const { types } = model.nodes[each];
      const link = element("a", { href: "#", click: (event) => this.go(event, view, each) }, name);
      const cell = each === item ? name : link;
      const [symbolic, numeric] = [sizes.texts(types, false), sizes.texts(types, true)];
      const both = element("span", null, symbolic, element("br"), numeric === symbolic ? "" : numeric);
      return [cell, both, bytesText(sizes.bytes(types))];
    };
    const weights = new Map(model.program.weights.map(({ node: each, name }) => [each, name]));
    const rows = [
      row("result", item),
      ...node.inputs.map((each) => row(weights.get(each) ?? model.nodes[each].name, each)),
    ];
    const used = model.users[item].map((each) =>
      element("li", null, element("a", { href: "#", click: (event) => this.go(event, view, each) }, model.nodes[each].name)),
    );
    return [
      folded("values", true, tableOf(rows, ["", "type, and at the chosen sizes", "bytes"])),
      ...(used.length ? [folded(`used by ${used.length}`, used.length < 6, element("ul", null, ...used))] : []),
    ];
  }

  lines(model, item) {
    const frames = model.frames(item);
    if (!frames.length) return [];
    const first = frames.find((each) => !LIBRARY.test(each.file)) ?? frames[0];
    const where = (at) => `${at.file}:${at.line} in ${at.function}`;
    const others = frames.map((at) =>
      element("li", null, element("span", { class: "where" }, where(at)), element("code", null, at.code)),
    );
    return [
      element("h3", null, "line"),
      element("p", { class: "where" }, where(first)),
      element("pre", { class: "source" }, first.code),
      ...(frames.length > 1 ? [folded(`called from (${frames.length})`, false, element("ol", { class: "calls" }, ...others))] : []),
    ];
  }

  /** Guards over the symbols of an item's values, or that its lines asked for. */
  guards(model, item, node) {
    const { program } = model;
    const keys = new Set();
    const collect = (tree) => {
      if (typeof tree === "string") keys.add(Number(tree.slice(1)));
      else if (Array.isArray(tree)) tree.slice(1).forEach(collect);
    };
    for (const each of [item, ...node.inputs]) {
      for (const [dtype, sizes] of model.nodes[each].types) {
        for (const size of dtype === "Sym" ? [sizes] : sizes) collect(program.expressions[size]);
      }
    }
    const lines = new Set(model.frames(item).map((at) => `${at.file}:${at.line}`));
    const about = program.guards.filter(
      (guard) =>
        guard.symbols.some((each) => keys.has(each)) ||
        guard.places.some(([file, line]) => lines.has(`${file}:${line}`)),
    );
    const ranges = [...keys].sort().map((i) => {
      const { name, lower, upper } = program.symbols[i];
      return [`${name}`, `${lower ?? ""} … ${upper ?? ""}`.trim()];
    });
    const rows = about.map((guard) => [guard.text, guard.places.map(([file, line]) => `${file}:${line}`)[0] ?? ""]);
    if (!rows.length && !ranges.length) return [];
    return [folded(rows.length === 1 ? "1 guard" : `sizes and ${rows.length} guards`, true, tableOf([...ranges, ...rows]))];
  }

  operator(operator) {
    const paragraphs = operator.text.split("\n\n").filter(Boolean).map((each) => element("p", null, each));
    return folded(
      operator.name, true,
      ...(operator.schema ? [element("pre", { class: "schema" }, operator.schema)] : []),
      ...(operator.law ? [element("p", null, element("code", null, operator.law))] : []),
      ...paragraphs,
    );
  }

  counterparts(view, node) {
    const other = this.page.other(view);
    if (!other) return [];
    const links = (node.counterparts ?? []).map((each) =>
      element("li", null, element("a", { href: "#", click: (event) => this.go(event, other, each) }, other.model.nodes[each].name)),
    );
    const words = node.same ? "the same in" : links.length ? "corresponds in" : "has nothing in";
    return [element("h3", null, `${words} ${other.model.program.title}`), element("ul", null, ...links)];
  }

  go(event, view, item) {
    event.preventDefault();
    this.page.goto(view, item);
  }

  contract(model) {
    const { program } = model;
    const tables = program.contract.map(([title, rows]) => folded(title, true, tableOf(rows)));
    return tables.length ? tables : [element("p", null, "nothing is asked of callers")];
  }

  weights(view, program) {
    const total = program.weights.reduce((sum, each) => sum + each.bytes, 0);
    const rows = program.weights.map(({ name, kind, type, bytes, node }) => {
      const link = element("a", { href: "#", click: (event) => this.go(event, view, node) }, name);
      return [node < 0 ? name : link, kind, type, bytesText(bytes)];
    });
    return [
      element("p", null, `${program.weights.length} tensors, ${bytesText(total)}`),
      tableOf(rows, ["name", "kind", "type", "bytes"]),
    ];
  }
}
