// The timeline: ranks down, time across, with zoom, pointer and keys. Only the rows in view are painted, so that thousands stay fast.
"use strict";
{
  const { MARK, AXIS, ROOMY, clockText, durationText, scales, rows, paint } = firstfault;
  const ROW = 22, MOST_HEIGHT = 460, FEW = 16;
  const KINDS = { initiating: "the first fault", collateral: "collateral", context: "context", progress: "last progress", start: "start", exit: "exit" };
  const SCALES = { gaps: "time, long gaps shortened", time: "time", order: "order in the log" };
  const MODES = { grouped: "ranks that did the same together", each: "every rank", fit: "all ranks in view" };

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  class Plot {
    constructor(holder, data) {
      this.data = data;
      this.ranks = data.rows.filter((r) => r[1] !== null).length;
      this.byRow = data.rows.map(() => []);
      for (const m of data.marks) this.byRow[m[MARK.row]].push(m);
      this.quiet = rows.silence(data, this.byRow);
      this.timed = new Set(data.marks.map((m) => m[MARK.at]).filter((t) => t !== null)).size > 1;
      this.view = [0, 1];
      this.open = new Set();
      this.cursor = null;
      this.hits = [];
      this.build(holder);
      this.listen();
      this.setRows(this.ranks > FEW ? "grouped" : "each");
      this.setScale(this.timed ? "gaps" : "order");
    }

    // The parts around the canvas -----------------------------------------------------------------------------------------------

    build(holder) {
      const button = (text, title, act) => make("button", { type: "button", textContent: text, title, ariaLabel: title, onclick: act });
      const choice = (options, act) => {
        const select = make("select", {}, ...options.map(([value, textContent]) => make("option", { value, textContent })));
        select.onchange = () => act(select.value);
        return select;
      };
      const possible = Object.entries(SCALES).filter(([name]) => this.timed || name === "order");
      this.scaleChoice = choice(possible, (name) => this.setScale(name));
      this.modeChoice = choice(Object.entries(MODES), (mode) => this.setRows(mode));
      const tools = make("div", { className: "tools" }, make("label", {}, "Across ", this.scaleChoice));
      if (this.ranks > FEW) tools.append(make("label", {}, "Down ", this.modeChoice));
      tools.append(make("span", { className: "buttons" },
        button("−", "Zoom out", () => this.zoom(1 / 1.6)), button("+", "Zoom in", () => this.zoom(1.6)), button("Fit", "Show everything", () => this.fit())));
      this.canvas = make("canvas");
      this.track = make("div", { className: "track" }, this.canvas);
      this.box = make("div", { className: "plot", tabIndex: 0 }, this.track);
      this.box.setAttribute("role", "application");
      this.box.setAttribute("aria-roledescription", "timeline plot");
      this.box.setAttribute("aria-label", `Timeline of ${this.ranks} ranks. Arrow keys move between marks, I goes to the first fault, Enter opens the line, Space unfolds a group, plus and minus zoom.`);
      this.tip = make("div", { className: "tip", hidden: true, ariaHidden: "true" });
      const sample = (kind, text) => {
        const canvas = make("canvas", { className: "sample" });
        canvas.dataset.kind = kind;
        return make("li", {}, canvas, text);
      };
      const present = new Set(this.data.marks.map((m) => this.data.kinds[m[MARK.kind]]));
      const legend = make("ul", { className: "legend", ariaLabel: "Legend" });
      for (const [kind, text] of Object.entries(KINDS)) if (present.has(kind)) legend.append(sample(kind, text));
      if (this.data.rows.some((r) => r[3] === 1)) legend.append(sample("row", "rank of the first fault"));
      if (this.quiet.some(Boolean)) legend.append(sample("silent", "no progress"));
      this.samples = [...legend.querySelectorAll("canvas")];
      const hints = ["Arrow keys move between marks, Enter opens the line, Ctrl+wheel and + zoom, dragging moves."];
      if (this.data.marks.some((m) => m[MARK.low] !== m[MARK.high])) hints.push("A hollow mark has no time of its own: its bar is the span in which it happened.");
      holder.append(tools, make("div", { className: "stage" }, this.box, this.tip), legend, make("p", { className: "hint" }, hints.join(" ")));
      holder.hidden = false;
    }

    listen() {
      const again = () => requestAnimationFrame(() => this.draw());
      new ResizeObserver(again).observe(this.box);
      new MutationObserver(again).observe(document.body, { attributes: true });
      for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)"]) matchMedia(query).addEventListener("change", again);
      this.box.addEventListener("scroll", () => this.draw());
      this.box.addEventListener("keydown", (e) => this.key(e));
      this.box.addEventListener("blur", () => this.forget());
      this.box.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
      let drag = null;
      this.box.addEventListener("pointerdown", (e) => {
        if (e.button === 0 && e.target === this.canvas) drag = { x: e.clientX, moved: false };
      });
      window.addEventListener("pointerup", () => setTimeout(() => (drag = null)));
      this.box.addEventListener("pointermove", (e) => {
        if (!drag || !(e.buttons & 1)) return this.point(e);
        const by = e.clientX - drag.x;
        if (!drag.moved && Math.abs(by) <= 3) return;
        Object.assign(drag, { moved: true, x: e.clientX });
        this.pan((-by / this.width) * (this.view[1] - this.view[0]));
      });
      this.box.addEventListener("pointerleave", () => this.cursor || (this.tip.hidden = true));
      this.canvas.addEventListener("dblclick", (e) => this.hitAt(e) || this.labelAt(e) || this.zoom(2, this.unit(e.offsetX)));
      this.canvas.addEventListener("click", (e) => {
        if (drag && drag.moved) return;
        const hit = this.hitAt(e);
        if (hit) this.openMark(hit.item.marks[0]);
        else this.toggle(this.labelAt(e));
      });
    }

    // Rows and scale ------------------------------------------------------------------------------------------------------------

    setRows(mode) {
      this.mode = this.modeChoice.value = mode;
      this.box.scrollTop = 0;
      this.forget();
      this.layout();
    }

    layout() {
      this.shown = rows.layout(this.data, this.byRow, this.mode, this.open);
      this.rowHeight = this.mode === "fit" ? Math.min(ROW, (MOST_HEIGHT - AXIS - 4) / Math.max(1, this.shown.length)) : ROW;
      this.height = AXIS + this.shown.length * this.rowHeight + 4;
      this.box.style.height = `${Math.min(MOST_HEIGHT, this.height)}px`;
      this.track.style.height = `${this.height}px`;
      this.draw();
    }

    toggle(row) {
      if (!row || !row.key) return;
      if (!this.open.delete(row.key)) this.open.add(row.key);
      this.layout();
    }

    items(row) {
      return rows.items(row, this.byRow, this.scale);
    }

    setScale(name) {
      this.scaleChoice.value = name;
      this.scale = scales[name](this.data);
      this.forget();
      this.fit();
    }

    fit() {
      this.view = [0, 1];
      this.draw();
    }

    /** Zooms by a factor around a place between 0 and 1, by default the middle of the view. */
    zoom(by, around = (this.view[0] + this.view[1]) / 2) {
      const span = Math.min(1, Math.max(1e-5, (this.view[1] - this.view[0]) / by));
      const share = (around - this.view[0]) / (this.view[1] - this.view[0]);
      this.show(around - share * span, span);
    }

    pan(by) {
      this.show(this.view[0] + by, this.view[1] - this.view[0]);
    }

    show(from, span) {
      const start = Math.min(1 - span, Math.max(0, from));
      this.view = [start, start + span];
      this.draw();
    }

    /** The place between 0 and 1 at a pixel, and the pixel of a place. */
    unit(x) {
      return this.view[0] + ((x - this.left) / this.width) * (this.view[1] - this.view[0]);
    }

    x(u) {
      return this.left + ((u - this.view[0]) / (this.view[1] - this.view[0])) * this.width;
    }

    draw() {
      if (this.waiting) return;
      this.waiting = requestAnimationFrame(() => {
        this.waiting = null;
        paint(this);
        if (this.cursor) this.showTip(this.cursorHit());
      });
    }

    // Pointing ------------------------------------------------------------------------------------------------------------------

    wheel(e) {
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        this.zoom(Math.exp(-e.deltaY / 300), this.unit(e.offsetX));
      } else if ((e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) && this.view[1] - this.view[0] < 0.999) {
        e.preventDefault();
        this.pan(((e.deltaX || e.deltaY) / this.width) * (this.view[1] - this.view[0]));
      }
    }

    point(e) {
      const hit = this.hitAt(e);
      this.canvas.style.cursor = hit || this.labelAt(e) ? "pointer" : "default";
      if (hit) this.showTip(hit);
      else if (!this.cursor) this.tip.hidden = true;
    }

    hitAt(e) {
      if (e.target !== this.canvas) return null;
      const near = Math.max(8, this.rowHeight / 2);
      let best = null, distance = 1e9;
      for (const hit of this.hits) {
        const dx = e.offsetX < hit.x ? hit.x - e.offsetX : Math.max(0, e.offsetX - hit.to), dy = Math.abs(e.offsetY - hit.y);
        if (dx > 10 || dy > near || dx + dy >= distance) continue;
        best = hit;
        distance = dx + dy;
      }
      return best;
    }

    labelAt(e) {
      if (e.target !== this.canvas || e.offsetX > this.left || e.offsetY < AXIS || this.rowHeight < ROOMY) return null;
      const row = this.shown[Math.floor((e.offsetY - AXIS + this.box.scrollTop) / this.rowHeight)];
      return row && row.key ? row : null;
    }

    /** What a mark says, as lines of text. */
    tell({ row, item }) {
      const { data } = this, m = item.marks[0], many = item.marks.length > 1;
      const time = (ms, day = true) => clockText(data, ms, true, day);
      const out = [many ? `${item.marks.length.toLocaleString("en")} marks of ${row.label} (${row.host})` : data.rows[m[MARK.row]].slice(0, 3).filter((v, i) => v && i !== 1).join(" · ")];
      out.push(`${KINDS[data.kinds[m[MARK.kind]]]}: ${data.says[m[MARK.says]]}`);
      const low = rows.lowest(item.marks.map((k) => k[MARK.low])), high = rows.highest(item.marks.map((k) => k[MARK.high]));
      if (m[MARK.at] === null) out.push("without a time; placed by its line");
      else if (low === high) out.push(time(low));
      else out.push(many ? `${time(low)} to ${time(high, false)}` : `between ${time(low)} and ${time(high, false)}`);
      const quiet = this.quiet[m[MARK.row]];
      if (!many && quiet && quiet[1] === m[MARK.at] && quiet[1] > quiet[0]) out.push(`${low === high ? "" : "about "}${durationText(quiet[1] - quiet[0])} after its last progress`);
      out.push(`${data.files[m[MARK.file]]}:${m[MARK.line]}`);
      return out;
    }

    showTip(hit) {
      this.tip.replaceChildren(...this.tell(hit).map((textContent, i) => make(i ? "span" : "b", { textContent })));
      this.tip.hidden = false;
      const stage = this.tip.parentElement, wide = this.tip.offsetWidth, tall = this.tip.offsetHeight, top = stage.getBoundingClientRect().top;
      const below = hit.y + 16, above = hit.y - tall - 14;
      this.tip.style.left = `${Math.min(Math.max(4, hit.x + 14), stage.clientWidth - wide - 4)}px`;
      this.tip.style.top = `${top + below + tall > window.innerHeight && top + above > 0 ? above : below}px`;
    }

    openMark(m) {
      firstfault.open(this.data.files[m[MARK.file]], m[MARK.line]);
    }

    // Keys ----------------------------------------------------------------------------------------------------------------------

    key(e) {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const around = this.cursor ? this.items(this.shown[this.cursor.n])[this.cursor.k].from : undefined;
      const actions = {
        ArrowRight: () => this.sideways(1), ArrowLeft: () => this.sideways(-1), Home: () => this.sideways(-1e9), End: () => this.sideways(1e9),
        ArrowDown: () => this.down(1), ArrowUp: () => this.down(-1), PageDown: () => this.down(15), PageUp: () => this.down(-15),
        "+": () => this.zoom(1.6, around), "=": () => this.zoom(1.6, around), "-": () => this.zoom(1 / 1.6, around), 0: () => this.fit(),
        i: () => this.toFirst(), I: () => this.toFirst(), Escape: () => this.forget(),
        Enter: () => this.cursor && this.openMark(this.cursorHit().item.marks[0]), " ": () => this.cursor && this.toggle(this.shown[this.cursor.n]),
      };
      if (!actions[e.key]) return;
      e.preventDefault();
      actions[e.key]();
    }

    toFirst() {
      const kind = this.data.kinds.indexOf("initiating"), full = (row) => this.items(row).length > 0;
      const holds = (row) => this.items(row).some((it) => it.marks[0][MARK.kind] === kind);
      const tries = [(row) => row.initiating && holds(row), (row) => row.initiating && full(row), holds, full];
      const n = tries.map((test) => this.shown.findIndex(test)).find((found) => found >= 0);
      if (n === undefined) return;
      this.place(n, Math.max(0, this.items(this.shown[n]).findIndex((it) => it.marks[0][MARK.kind] === kind)));
    }

    sideways(by) {
      if (!this.cursor) return this.toFirst();
      const { n, k } = this.cursor;
      this.place(n, Math.min(this.items(this.shown[n]).length - 1, Math.max(0, k + by)));
    }

    /** Moves to the nearest mark of another row; rows without marks are passed over. */
    down(by) {
      if (!this.cursor) return this.toFirst();
      const from = this.items(this.shown[this.cursor.n])[this.cursor.k].from;
      let n = Math.min(this.shown.length - 1, Math.max(0, this.cursor.n + by));
      while (n >= 0 && n < this.shown.length && !this.items(this.shown[n]).length) n += Math.sign(by);
      if (n < 0 || n >= this.shown.length) return;
      const away = this.items(this.shown[n]).map((it) => Math.abs(it.from - from));
      this.place(n, away.indexOf(rows.lowest(away)));
    }

    /** Puts the cursor on a mark, brings it into view and says it. */
    place(n, k) {
      this.cursor = { n, k };
      const top = n * this.rowHeight, tall = this.box.clientHeight - AXIS, at = this.items(this.shown[n])[k].from;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (top + this.rowHeight > this.box.scrollTop + tall) this.box.scrollTop = top + this.rowHeight - tall + 4;
      if (at < this.view[0] || at > this.view[1]) this.pan(at - (this.view[0] + this.view[1]) / 2);
      paint(this);
      this.showTip(this.cursorHit());
      firstfault.say(this.tell(this.cursorHit()).join(", "));
    }

    cursorHit() {
      const { n, k } = this.cursor, row = this.shown[n], item = this.items(row)[k];
      return this.hits.find((h) => h.n === n && h.item === item) ?? { x: this.left, to: this.left, y: AXIS, row, item, n };
    }

    forget() {
      this.cursor = null;
      this.tip.hidden = true;
      this.draw();
    }
  }

  const source = document.getElementById("timeline-data");
  if (source) new Plot(document.getElementById("timeline"), JSON.parse(source.textContent));
}
