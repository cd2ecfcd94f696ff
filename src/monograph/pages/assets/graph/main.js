// The page: views side by side, one selection, search, keys, sizes, the theme.
"use strict";

const byId = (id) => document.getElementById(id);
const OPEN_AT_FIRST = 16; // items
const RESULTS = 60;

class Page {
  constructor({ programs, difference }) {
    this.numeric = false;
    this.readColors();
    this.views = programs.map((program) => {
      const holder = element("section", { class: "view", "aria-label": program.title });
      if (programs.length > 1) holder.append(element("h2", null, program.title, " ", element("small", null, program.summary)));
      byId("views").append(holder);
      const model = new Model(program);
      model.openSome(OPEN_AT_FIRST);
      return new View(model, holder, this);
    });
    this.view = this.views[0];
    this.panel = new Panel(byId("panel"), this);
    byId("title").textContent = document.title;
    byId("summary").textContent = difference
      ? `${difference.removed} nodes before alone, ${difference.added} after alone`
      : programs[0].summary;
    this.sizeInputs(programs);
    this.listen();
    this.panel.fill();
    if (window.innerWidth < 700) this.panel.close();
    this.ready = Promise.all(this.views.map((view) => view.relayout()));
    this.ready.then(() => document.body.setAttribute("data-ready", ""));
  }

  other(view) {
    return this.views.find((each) => each !== view) ?? null;
  }

  activate(view) {
    if (this.view === view) return;
    this.view = view;
    this.panel.fill();
  }

  differenceColor(view) {
    return view === this.views[0] ? this.colors.bad : this.colors.good;
  }

  // --- selection ------------------------------------------------------------------------------

  select(view, item, { announce = true } = {}) {
    this.view = view;
    for (const each of this.views) {
      each.selected = null;
      each.linked = new Set();
    }
    view.selected = item;
    const other = this.other(view);
    if (other && item !== null && item >= 0) {
      for (const each of view.model.nodes[item].counterparts) other.linked.add(other.model.standIn(each));
      const [first] = other.linked;
      if (first !== undefined) other.show(first);
    }
    if (item !== null) this.panel.open("selection");
    else this.panel.fill();
    for (const each of this.views) each.draw();
    if (announce && item !== null) {
      const types = item < 0 ? "" : view.model.sizes.texts(view.model.nodes[item].types, this.numeric);
      byId("said").textContent = `${view.model.path(item)} ${types}`;
    }
  }

  async toggle(view, item) {
    view.model.toggle(-1 - item);
    this.select(view, item);
    await view.relayout(item);
  }

  /** Open what is around an item, select it and bring it into view. */
  async goto(view, item) {
    if (view.model.isHidden(item)) this.setShown(view.model.nodes[item].kind, true);
    const anchor = view.model.standIn(item);
    this.select(view, item);
    if (view.model.reveal(item) || !view.layout.items.has(item)) await view.relayout(anchor);
    view.show(item);
  }

  setShown(kind, shown) {
    byId(kind === "weight" ? "weights" : "numbers-shown").checked = shown;
    for (const view of this.views) view.model.shown[kind] = shown;
  }

  closeAll() {
    for (const view of this.views) {
      view.model.open = new Set([0]);
      if (view.selected !== null) view.selected = view.model.standIn(view.selected);
      view.relayout();
    }
  }

  // --- search ---------------------------------------------------------------------------------

  search(words) {
    this.results = this.views.flatMap((view) => view.model.search(words).map((item) => [view, item]));
    this.result = -1;
    byId("found").textContent = words.trim() ? `${this.results.length} found` : "";
    const list = this.results.slice(0, RESULTS).map(([view, item], i) =>
      element("li", null, element("button", { type: "button", click: () => this.visit(i) },
        element("b", null, view.model.label(item)), ` ${view.model.path(item)}`)),
    );
    byId("results").replaceChildren(...list);
    byId("results").hidden = !list.length;
    for (const view of this.views) view.draw();
  }

  visit(i) {
    if (!this.results?.length) return null;
    this.result = (i + this.results.length) % this.results.length;
    byId("found").textContent = `${this.result + 1} of ${this.results.length}`;
    byId("results").hidden = true;
    return this.goto(...this.results[this.result]);
  }

  // --- sizes ----------------------------------------------------------------------------------

  sizeInputs(programs) {
    const symbols = new Map(programs.flatMap((each) => each.symbols).map((each) => [each.name, each]));
    const inputs = [...symbols.values()].map(({ name, value }) =>
      element("label", null, name, element("input", {
        type: "number", value: String(value), "data-size": name,
        input: (event) => this.resize(name, Number(event.target.value)),
      })),
    );
    byId("sizes").prepend(...inputs);
    byId("sizes").hidden = !inputs.length;
  }

  resize(name, value) {
    if (!Number.isSafeInteger(value)) return;
    for (const view of this.views) view.model.sizes.set(name, value);
    this.weigh();
    const broken = [...new Set(this.views.flatMap((view) => view.model.sizes.broken()))];
    byId("broken").textContent = broken.length ? `not admitted: ${broken.join("; ")}` : "";
  }

  weigh() {
    for (const view of this.views) {
      view.weigh();
      view.draw();
    }
    this.panel.fill();
  }

  // --- colours --------------------------------------------------------------------------------

  readColors() {
    const probe = element("span", { hidden: true });
    document.body.append(probe);
    this.colors = Object.fromEntries(
      COLORS.map((name) => {
        probe.style.color = `var(--${name})`;
        return [name, getComputedStyle(probe).color];
      }),
    );
    probe.remove();
  }

  isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  setTheme() {
    document.documentElement.dataset.theme = this.isDark() ? "light" : "dark";
    this.recolor();
  }

  recolor() {
    this.readColors();
    for (const view of this.views) view.draw();
  }

  // --- keys and controls ----------------------------------------------------------------------

  listen() {
    const search = byId("search");
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.search(search.value), 80);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        clearTimeout(waiting);
        if (!this.results || waiting) this.search(search.value);
        waiting = 0;
        this.visit((this.result ?? -1) + (event.shiftKey ? -1 : 1));
      } else if (event.key === "Escape") {
        search.value = "";
        this.search("");
        this.view.canvas.focus();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    const on = (id, type, act) => byId(id).addEventListener(type, act);
    on("fit", "click", () => this.views.forEach((view) => view.fit()));
    on("close-all", "click", () => this.closeAll());
    on("theme", "click", () => this.setTheme());
    on("about", "click", () => {
      this.select(this.view, null);
      this.panel.open("selection");
    });
    on("numeric", "change", (event) => {
      this.numeric = event.target.checked;
      this.weigh();
    });
    const shows = (kind) => (event) => {
      this.setShown(kind, event.target.checked);
      for (const view of this.views) view.relayout();
    };
    on("weights", "change", shows("weight"));
    on("numbers-shown", "change", shows("size"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
  }

  key(event) {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (typing && event.key === "Escape") this.view.canvas.focus();
    const pressesButton = event.target.tagName === "BUTTON" && event.key === "Enter";
    if (typing || pressesButton || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.keys()[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  keys() {
    const { view } = this;
    const { selected } = view;
    const move = (key) => () => {
      const item = view.neighbour(key);
      if (item !== null) {
        this.select(view, item);
        view.show(item);
      }
    };
    return {
      "/": () => byId("search").select(),
      Escape: () => (selected === null ? this.panel.close() : this.select(view, null)),
      Enter: () => {
        if (selected === null) return;
        if (selected < 0) this.toggle(view, selected);
        else this.panel.body.focus();
      },
      Backspace: () => {
        const around = selected === null ? 0 : view.model.parent(selected);
        if (around) this.select(view, -1 - around);
      },
      ArrowUp: move("ArrowUp"),
      ArrowDown: move("ArrowDown"),
      ArrowLeft: move("ArrowLeft"),
      ArrowRight: move("ArrowRight"),
      "+": () => view.zoom(1.25),
      "-": () => view.zoom(0.8),
      f: () => view.fit(),
      c: () => this.closeAll(),
      t: () => this.setTheme(),
    };
  }
}

document.body.classList.add("graph");
const page = new Page(JSON.parse(byId("document").textContent));
