// The graph of one program: regions that are open or closed, what is visible, what was found.
// An item is a node (its number) or a region (-1 - its number).
"use strict";

const HEAVY = /^(linear|.*mm|.*matmul|dot|mv|conv\w*|convolution|.*attention\w*|embedding|einsum|bilinear|.*lstm.*|.*gru.*|fft\w*)$/;
const MOVING =
  /^(_?unsafe_view|view\w*|_?reshape\w*|transpose|t|permute|expand\w*|slice\w*|select\w*|narrow|unsqueeze|squeeze|cat|concat|stack|split\w*|chunk|clone|contiguous|to|_to_copy|copy|alias|detach\w*|lift_\w*|getitem|index\w*|gather|scatter\w*|flatten|unflatten|repeat\w*|roll|flip|unbind|movedim|full\w*|zeros\w*|ones\w*|new_\w*|arange|empty\w*)$/;

/** The name of an operator without its namespace and overload: aten.add.Tensor is add. */
function shortName(operator) {
  const parts = operator.split(".");
  return parts.length > 2 ? parts.slice(1, -1).join(".") : parts[parts.length - 1];
}

class Model {
  constructor(program) {
    this.program = program;
    this.sizes = new Sizes(program);
    this.nodes = program.nodes;
    this.regions = program.regions.map(([label, kind, parent, detail]) => ({
      label, kind, parent, detail, children: [], operators: 0, differing: 0,
    }));
    this.regions.forEach((region, r) => {
      if (region.parent !== null) this.regions[region.parent].children.push(-1 - r);
    });
    this.users = this.nodes.map(() => []);
    this.nodes.forEach((node, n) => {
      for (const each of node.inputs) this.users[each].push(n);
      this.regions[node.region].children.push(n);
      for (let r = node.region; r !== null; r = this.regions[r].parent) {
        this.regions[r].operators += node.kind === "call";
        this.regions[r].differing += node.same === false;
      }
    });
    this.open = new Set([0]);
    this.shown = { weight: false, size: false };
    this.found = new Set();
  }

  isHidden(item) {
    return item >= 0 && this.shown[this.nodes[item].kind] === false;
  }

  parent(item) {
    return item >= 0 ? this.nodes[item].region : this.regions[-1 - item].parent;
  }

  children(region) {
    return this.regions[region].children.filter((item) => !this.isHidden(item));
  }

  isOpen(item) {
    return item < 0 && this.open.has(-1 - item);
  }

  /** The item that stands for an item: itself, or the outermost closed region around it. */
  standIn(item) {
    let found = item;
    for (let r = this.parent(item); r !== null; r = this.regions[r].parent) {
      if (!this.open.has(r)) found = -1 - r;
    }
    return found;
  }

  /** The regions around an item, innermost first. */
  around(item) {
    const found = [];
    for (let r = this.parent(item); r !== null; r = this.regions[r].parent) found.push(r);
    return found;
  }

  toggle(region) {
    if (!this.open.delete(region)) this.open.add(region);
  }

  /** Open what is around an item, so that it is visible. */
  reveal(item) {
    const closed = this.around(item).filter((r) => !this.open.has(r));
    for (const r of closed) this.open.add(r);
    return closed.length > 0;
  }

  openAll(region = 0) {
    this.open.add(region);
    for (const child of this.regions[region].children) if (child < 0) this.openAll(-1 - child);
  }

  /** Open regions, the outer ones first, while not much more than `limit` items would be visible. */
  openSome(limit) {
    let visible = this.children(0).length;
    const waiting = [0];
    while (waiting.length) {
      const region = waiting.shift();
      for (const child of this.children(region)) {
        if (child >= 0) continue;
        const more = this.children(-1 - child).length;
        if (visible + more > limit) continue;
        visible += more;
        this.open.add(-1 - child);
        waiting.push(-1 - child);
      }
    }
  }

  /** Edges between visible items: by the region that holds both sides, and what each carries. */
  edges() {
    const stands = new Map();
    const standIn = (item) => {
      let found = stands.get(item);
      if (found === undefined) stands.set(item, (found = this.standIn(item)));
      return found;
    };
    const depth = (item) => this.around(item).length;
    const edges = new Map();
    this.nodes.forEach((node, v) => {
      if (this.isHidden(v)) return;
      const to = standIn(v);
      for (const u of node.inputs) {
        if (this.isHidden(u)) continue;
        const from = standIn(u);
        if (from === to) continue;
        const key = `${from} ${to}`;
        let edge = edges.get(key);
        if (!edge) {
          let [a, b] = [from, to];
          let [da, db] = [depth(a), depth(b)];
          for (; da > db; da--) a = -1 - this.parent(a);
          for (; db > da; db--) b = -1 - this.parent(b);
          while (this.parent(a) !== this.parent(b)) {
            a = -1 - this.parent(a);
            b = -1 - this.parent(b);
          }
          edge = { from, to, a, b, region: this.parent(a), values: new Set() };
          if (a !== b) edges.set(key, edge);
        }
        edge.values.add(u);
      }
    });
    return [...edges.values()];
  }

  label(item) {
    if (item < 0) return this.regions[-1 - item].label;
    const node = this.nodes[item];
    return node.operator < 0 ? node.name : shortName(this.program.operators[node.operator].name);
  }

  path(item) {
    const names = this.around(item).reverse().slice(1).map((r) => this.regions[r].label);
    return [...names, item < 0 ? this.label(item) : this.nodes[item].name].join(" / ");
  }

  /** What an item is painted as. */
  family(item) {
    if (item < 0) return this.regions[-1 - item].kind;
    const { kind } = this.nodes[item];
    if (kind !== "call") return kind;
    const name = this.label(item);
    return HEAVY.test(name) ? "heavy" : MOVING.test(name) ? "moving" : "call";
  }

  text(item) {
    this.haystack ??= new Map();
    let found = this.haystack.get(item);
    if (found === undefined) {
      const parts = [this.path(item)];
      if (item < 0) parts.push(this.regions[-1 - item].detail);
      else {
        const node = this.nodes[item];
        if (node.operator >= 0) parts.push(this.program.operators[node.operator].name);
        parts.push(this.sizes.texts(node.types, false), ...node.arguments.map((each) => each[1]));
        for (const at of this.frames(item)) parts.push(at.code, `${at.file}:${at.line}`);
      }
      this.haystack.set(item, (found = parts.join("\n").toLowerCase()));
    }
    return found;
  }

  frames(item) {
    const place = item < 0 ? -1 : this.nodes[item].place;
    return place < 0 ? [] : this.program.places[place];
  }

  /** Items that have all words, in the order of the program: regions by label alone. */
  search(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = new Set();
    if (!wanted.length) return [];
    const fits = (text) => wanted.every((word) => text.includes(word));
    this.regions.forEach((region, r) => {
      const named = `${region.label} ${region.detail}`.toLowerCase();
      if (r && region.kind !== "section" && fits(named)) this.found.add(-1 - r);
    });
    this.nodes.forEach((node, n) => {
      if (fits(this.text(n))) this.found.add(n);
    });
    return [...this.found];
  }
}
