// The canvas: draws what of a layout is in view, and turns pointers into selections.
"use strict";

const BOLD = "600 12px system-ui, sans-serif";
const PLAIN = "12px system-ui, sans-serif";
const SMALL = "11px ui-monospace, monospace";
const COLORS = [
  "background", "surface", "text", "faint", "line", "accent", "mark", "good", "bad",
  "call", "heavy", "moving", "input", "weight", "module", "branch", "loop",
];
const FILLS = {
  call: "call", heavy: "heavy", moving: "moving", input: "input", output: "input", size: "weight",
  weight: "weight", module: "module", section: "surface", operator: "loop", branch: "branch",
  loop: "loop", body: "loop", program: "surface",
};

/** Where a bend begins: on the way from a point to the next, half of it at most. */
function towards([x, y], [nx, ny]) {
  const length = Math.hypot(nx - x, ny - y) || 1;
  const part = Math.min(0.5, 36 / length);
  return [x + (nx - x) * part, y + (ny - y) * part];
}

class View {
  constructor(model, holder, page) {
    this.model = model;
    this.page = page;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `graph of ${model.program.title}; arrows move, enter opens`);
    holder.append(element("div", { class: "surface" }, this.canvas));
    this.layout = { items: new Map(), edges: [], ways: [], width: 0, height: 0 };
    this.at = { x: 0, y: 0, scale: 1 };
    this.selected = null;
    this.linked = new Set();
    this.version = 0;
    this.pending = false;
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  // --- layout ---------------------------------------------------------------------------------

  /** Lay out again what is open now; the item stays where it is on the screen, else all is fitted. */
  async relayout(anchor = null) {
    const version = ++this.version;
    const before = anchor === null ? null : this.layout.items.get(anchor);
    const corner = before && this.toScreen(before.x, before.y);
    this.canvas.setAttribute("aria-busy", "true");
    const layout = await laidOut(this.model, () => version === this.version);
    if (layout === null) return false;
    this.layout = layout;
    this.list = [...layout.items.values()];
    this.near = new Map(this.list.map(({ item }) => [item, { sources: [], targets: [] }]));
    for (const { from, to } of layout.edges) {
      this.near.get(from).targets.push(to);
      this.near.get(to).sources.push(from);
    }
    this.weigh();
    const after = anchor === null ? null : layout.items.get(anchor);
    if (corner && after) {
      this.at.x = corner[0] - after.x * this.at.scale;
      this.at.y = corner[1] - after.y * this.at.scale;
      this.draw();
    } else this.fit();
    this.canvas.setAttribute("aria-busy", "false");
    return true;
  }

  /** What depends on the chosen sizes: the labels of edges and how wide they are. */
  weigh() {
    const { model } = this;
    for (const edge of this.layout.edges) {
      let bytes = 0;
      for (const value of edge.values) bytes += model.sizes.bytes(model.nodes[value].types) ?? 0;
      edge.bytes = bytes;
      const [first] = edge.values;
      const text = model.sizes.texts(model.nodes[first].types, this.page.numeric);
      edge.label = edge.values.size > 1 ? `${edge.values.size} values` : shortened(text);
    }
    for (const way of this.layout.ways) {
      const bytes = way.edges.reduce((most, edge) => Math.max(most, edge.bytes), 0);
      way.width = Math.min(3, Math.floor(Math.log10(bytes + 1) / 3));
    }
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { width: w, height: h } = this.layout;
    const scale = Math.min(1.25, Math.max(0.02, Math.min((width - 24) / w, (height - 24) / h)));
    // What would be too small to read begins at its top instead.
    const readable = Math.max(scale, Math.min(0.45, (width - 24) / w));
    const y = readable > scale ? 12 : (height - h * scale) / 2;
    this.at = { x: (width - w * readable) / 2, y, scale: readable };
    this.draw();
  }

  toScreen(x, y) {
    return [x * this.at.scale + this.at.x, y * this.at.scale + this.at.y];
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.01, this.at.scale * factor));
    const actual = scale / this.at.scale;
    this.at = { x: x - (x - this.at.x) * actual, y: y - (y - this.at.y) * actual, scale };
    this.draw();
  }

  /** Bring an item into the view, if it is not well inside. */
  show(item) {
    const place = this.layout.items.get(item);
    if (!place) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.at.scale < 0.6) this.at.scale = 0.9;
    const [x, y] = this.toScreen(place.x + place.width / 2, place.y + Math.min(place.height, 60) / 2);
    if (x < 60 || x > width - 60) this.at.x += width / 2 - x;
    if (y < 60 || y > height - 60) this.at.y += height / 2 - y;
    this.draw();
  }

  // --- pointers -------------------------------------------------------------------------------

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey) {
        this.at.x -= event.deltaY + event.deltaX;
        this.draw();
      } else this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      this.moved = this.pointers.size > 1;
      this.from = [event.offsetX, event.offsetY];
    });
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => {
      const pressed = this.pointers.delete(event.pointerId);
      if (pressed && !this.moved) this.click(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("dblclick", (event) => {
      const item = this.hit(event.offsetX, event.offsetY);
      if (item !== null && item < 0 && !this.onChevron(item, event.offsetX, event.offsetY)) {
        this.page.toggle(this, item);
      }
    });
    canvas.addEventListener("focus", () => this.page.activate(this));
  }

  drag(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const here = [event.offsetX, event.offsetY];
    if (Math.hypot(here[0] - this.from[0], here[1] - this.from[1]) > 4) this.moved = true;
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map((each) => each[1]);
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) + 1;
      this.zoom(apart(here) / apart(last), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
    } else if (this.moved) {
      this.at.x += here[0] - last[0];
      this.at.y += here[1] - last[1];
      this.draw();
    }
    this.pointers.set(event.pointerId, here);
  }

  /** The innermost item at a point of the screen, null for none. */
  hit(x, y) {
    const [gx, gy] = [(x - this.at.x) / this.at.scale, (y - this.at.y) / this.at.scale];
    let found = null;
    for (const place of this.list ?? []) {
      const inside =
        gx >= place.x && gx <= place.x + place.width && gy >= place.y && gy <= place.y + place.height;
      if (inside) found = place.item; // inner items come after what is around them
    }
    return found;
  }

  onChevron(item, x, y) {
    const place = this.layout.items.get(item);
    const [left, top] = this.toScreen(place.x, place.y);
    const height = (place.open ? HEADER : place.height) * this.at.scale;
    return x - left < Math.max(28 * this.at.scale, 24) && y - top < Math.max(height, 24);
  }

  click(x, y) {
    this.page.activate(this);
    const item = this.hit(x, y);
    if (item !== null && item < 0 && this.onChevron(item, x, y)) this.page.toggle(this, item);
    else this.page.select(this, item);
  }

  /** The item that an arrow key leads to from the selected one. */
  neighbour(key) {
    const here = this.layout.items.get(this.selected);
    if (!here) return this.list?.[0]?.item ?? null;
    const near = this.near.get(this.selected);
    const candidates =
      key === "ArrowDown" ? near.targets
      : key === "ArrowUp" ? near.sources
      : this.model.children(this.model.parent(this.selected)).filter((item) => {
          const place = this.layout.items.get(item);
          const overlaps = place.y < here.y + here.height && place.y + place.height > here.y;
          return overlaps && (key === "ArrowRight" ? place.x > here.x : place.x < here.x);
        });
    const middle = here.x + here.width / 2;
    const away = (item) => {
      const place = this.layout.items.get(item);
      return Math.abs(place.x + place.width / 2 - middle) + Math.abs(place.y - here.y) / 4;
    };
    const [nearest] = candidates.toSorted((a, b) => away(a) - away(b));
    if (nearest !== undefined) return nearest;
    const all = this.list;
    const i = all.indexOf(here) + (key === "ArrowDown" || key === "ArrowRight" ? 1 : -1);
    return all[Math.min(all.length - 1, Math.max(0, i))].item;
  }

  // --- drawing --------------------------------------------------------------------------------

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pending = false;
    this.paint();
  }

  /** Paint with the next frame. */
  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      if (!this.pending) return;
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const { canvas, at } = this;
    const ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext("2d", { alpha: false });
    const colors = this.page.colors;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.background;
    context.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.translate(at.x, at.y);
    context.scale(at.scale, at.scale);
    const view = [
      -at.x / at.scale, -at.y / at.scale,
      (canvas.clientWidth - at.x) / at.scale, (canvas.clientHeight - at.y) / at.scale,
    ];
    const seen = (left, top, right, bottom) =>
      right >= view[0] && left <= view[2] && bottom >= view[1] && top <= view[3];
    const places = (this.list ?? []).filter((p) => seen(p.x, p.y, p.x + p.width, p.y + p.height));
    for (const place of places) if (place.open) this.paintRegion(context, place, colors);
    this.paintEdges(context, this.layout.ways.filter((way) => seen(...way.bounds)), colors);
    if (at.scale >= 0.55) this.paintLabels(context, new Set(places.map((place) => place.item)), colors);
    for (const place of places) if (!place.open) this.paintBox(context, place, colors);
    this.painted = { items: places.length };
  }

  paintRegion(context, place, colors) {
    const { item, x, y, width, height } = place;
    context.fillStyle = colors[FILLS[place.family]];
    context.globalAlpha = 0.35;
    context.beginPath();
    context.roundRect(x, y, width, height, 8);
    context.fill();
    context.globalAlpha = 1;
    this.outline(context, place, colors);
    if (this.at.scale * width < 40) return;
    // Titles of regions stay readable from further away than those of boxes.
    const grow = Math.min(2.2, Math.max(1, 0.6 / this.at.scale));
    if (grow * this.at.scale * 12 < 5) return;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.translate(x, y);
    context.scale(grow, grow);
    const { label, detail } = titleOf(this.model.regions[-1 - item]);
    context.fillStyle = colors.text;
    context.font = BOLD;
    context.fillText(label, 8, 17);
    const left = textWidth(label, BOLD) + 18;
    if (left + textWidth(detail, SMALL) < width / grow) {
      context.font = SMALL;
      context.fillStyle = colors.faint;
      context.fillText(detail, left, 17);
    }
    context.restore();
  }

  outline(context, place, colors) {
    const { model } = this;
    const { item } = place;
    const differs = item >= 0 ? model.nodes[item].same === false : model.regions[-1 - item].differing > 0;
    const isFound = model.found.has(item);
    context.lineWidth = 1;
    context.strokeStyle = colors.line;
    if (differs) [context.strokeStyle, context.lineWidth] = [this.page.differenceColor(this), item >= 0 ? 2 : 1];
    if (isFound) [context.strokeStyle, context.lineWidth] = [colors.mark, 4];
    if (this.linked.has(item)) [context.strokeStyle, context.lineWidth] = [colors.accent, 2];
    if (item === this.selected) [context.strokeStyle, context.lineWidth] = [colors.accent, 3];
    context.lineWidth = Math.max(context.lineWidth, context.lineWidth > 1 ? 1.2 / this.at.scale : 0);
    context.stroke();
  }

  paintBox(context, place, colors) {
    const { item, x, y, width, height, lines } = place;
    const { scale } = this.at;
    context.fillStyle = colors[FILLS[place.family]];
    if (scale < 0.25) {
      context.fillRect(x, y, width, height);
      const marked = item === this.selected || this.linked.has(item) || this.model.found.has(item);
      const differs = item >= 0 && this.model.nodes[item].same === false;
      if (!marked && !differs) return;
      context.beginPath();
      context.rect(x, y, width, height);
      this.outline(context, place, colors);
      return;
    }
    context.beginPath();
    context.roundRect(x, y, width, height, item < 0 ? 8 : 5);
    context.fill();
    this.outline(context, place, colors);
    const left = x + 10 + (item < 0 ? 20 : 0);
    if (item < 0) {
      context.font = BOLD;
      context.fillStyle = colors.accent;
      context.fillText("▸", x + 11, y + 18);
    }
    lines.forEach((line, i) => {
      context.font = i ? SMALL : BOLD;
      context.fillStyle = i ? colors.faint : colors.text;
      context.fillText(line, left, y + 18 + i * LINE);
    });
  }

  /** Whether an edge is of the selected item. */
  touches(edge) {
    return this.selected !== null && (edge.from === this.selected || edge.to === this.selected);
  }

  paintEdges(context, ways, colors) {
    const { scale } = this.at;
    const near = ways.filter((way) => way.edges.some((edge) => this.touches(edge)));
    context.lineJoin = "round";
    for (let width = 0; width <= 3; width += 1) {
      const some = ways.filter((way) => way.width === width);
      if (!some.length) continue;
      context.strokeStyle = colors.faint;
      context.globalAlpha = 0.55;
      context.lineWidth = (0.8 + width * 0.8) * Math.max(1, 0.5 / scale);
      context.beginPath();
      for (const way of some) this.trace(context, way.points);
      context.stroke();
      context.globalAlpha = 1;
    }
    if (scale >= 0.3) {
      context.fillStyle = colors.faint;
      context.beginPath();
      for (const way of ways) if (way.ends) this.arrow(context, way.points);
      context.fill();
    }
    context.strokeStyle = colors.accent;
    context.lineWidth = 2 / Math.min(1, scale);
    context.beginPath();
    for (const way of near) this.trace(context, way.points);
    context.stroke();
  }

  /** The type of a value below what makes it, once; its bytes too where it is selected. */
  paintLabels(context, seen, colors) {
    const touches = (edge) => this.touches(edge);
    const labels = new Map();
    for (const edge of this.layout.edges) {
      if (!seen.has(edge.from)) continue;
      const key = `${edge.from} ${edge.label}`;
      if (edge.label && (touches(edge) || !labels.has(key))) labels.set(key, edge);
    }
    const below = new Map();
    context.font = SMALL;
    for (const edge of labels.values()) {
      const n = below.get(edge.from) ?? 0;
      if (n > 1) continue;
      const lines = touches(edge) && edge.bytes ? [edge.label, bytesText(edge.bytes)] : [edge.label];
      below.set(edge.from, n + lines.length);
      const place = this.layout.items.get(edge.from);
      lines.forEach((text, i) => {
        const width = textWidth(text, SMALL);
        const x = place.x + place.width / 2 - width / 2;
        const y = place.y + place.height + 13 + (n + i) * 12;
        context.fillStyle = colors.background;
        context.globalAlpha = 0.85;
        context.fillRect(x - 2, y - 10, width + 4, 13);
        context.globalAlpha = 1;
        context.fillStyle = touches(edge) ? colors.accent : colors.faint;
        context.fillText(text, x, y);
      });
    }
  }

  /** A way with rounded bends. */
  trace(context, points) {
    context.moveTo(points[0][0], points[0][1]);
    const [x, y] = points[points.length - 1];
    for (let i = 1; i < points.length - 1; i += 1) {
      const [bx, by] = points[i];
      if (this.at.scale < 0.3) {
        context.lineTo(bx, by);
        continue;
      }
      const [before, after] = [towards(points[i], points[i - 1]), towards(points[i], points[i + 1])];
      context.lineTo(before[0], before[1]);
      context.quadraticCurveTo(bx, by, after[0], after[1]);
    }
    context.lineTo(x, y);
  }

  arrow(context, points) {
    const [[x0, y0], [x1, y1]] = points.slice(-2);
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.moveTo(x1, y1);
    for (const turn of [2.75, -2.75]) {
      context.lineTo(x1 + 7 * Math.cos(angle + turn), y1 + 7 * Math.sin(angle + turn));
    }
    context.closePath();
  }
}
