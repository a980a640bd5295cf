// Paints the timeline on a canvas: the axis, the rows in view, the marks. Knows no key and no pointer.
"use strict";
{
  const { MARK } = firstfault;
  const { lowest, highest } = firstfault.rows;
  const AXIS = 26;
  /** Rows of this height and more have labels, counts and spans; thinner ones only marks. */
  const ROOMY = 12;

  const colours = () => {
    const style = getComputedStyle(document.body);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    return {
      text: get("fg"), muted: get("muted"), line: get("grid"), back: get("bg"), stripe: get("stripe"), focus: get("focus"), silent: get("silent"),
      initiating: get("bad"), collateral: get("warn"), context: get("muted"), progress: get("good"), start: get("info"), exit: get("fg"),
    };
  };

  /** Makes a canvas sharp on its screen and gives its drawing context. */
  const prepare = (canvas, wide, tall) => {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${tall}px`;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(tall * ratio);
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    return g;
  };

  const line = (g, x0, y0, x1, y1) => {
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
  };

  const dashed = (g, pattern, colour, x0, y0, x1, y1) => {
    g.save();
    g.setLineDash(pattern);
    g.strokeStyle = colour;
    line(g, x0, y0, x1, y1);
    g.restore();
  };

  /** A text cut to a width in pixels. */
  const cut = (g, text, room) => {
    if (g.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (g.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return low ? `${text.slice(0, low)}…` : "";
  };

  /** Each kind has a form of its own, so that colour is never the only sign. `hollow` is the colour inside a mark without a time. */
  const shape = (g, kind, x, y, r, hollow) => {
    g.beginPath();
    g.lineWidth = 2;
    if (kind === "exit") {
      const s = r * 0.8;
      line(g, x - s, y - s, x + s, y + s);
      line(g, x + s, y - s, x - s, y + s);
      return;
    }
    if (kind === "initiating" || kind === "start") {
      const points = kind === "start" ? [[-r, -r], [r, 0], [-r, r]] : [[0, -r], [r, 0], [0, r], [-r, 0]];
      for (const [dx, dy] of points) g.lineTo(x + dx, y + dy);
      g.closePath();
    } else if (kind === "progress") g.rect(x - 1.5, y - r, 3, 2 * r);
    else g.arc(x, y, kind === "context" ? r * 0.6 : r * 0.9, 0, 7);
    if (hollow) g.fillStyle = hollow;
    g.fill();
    if (hollow) g.stroke();
  };

  /** The labels, lines and long gaps of the axis, the place of marks without a time, and where attempts start. */
  const backdrop = (plot, g, c, tall, outer) => {
    const { scale, view, left, width } = plot;
    const right = left + width;
    const taken = [];
    g.fillStyle = c.muted;
    g.strokeStyle = c.line;
    g.lineWidth = 1;
    let free = left - 4;
    for (const tick of scale.ticks(view[0], view[1], Math.max(2, width / 110))) {
      if (tick.u < view[0] || tick.u > view[1]) continue;
      const x = plot.x(tick.u), wide = g.measureText(tick.label).width, from = Math.min(Math.max(x - wide / 2, left - 4), outer - wide - 2);
      if (from < free) continue;
      g.fillText(tick.label, from, AXIS / 2);
      line(g, Math.round(x) + 0.5, AXIS - 4, Math.round(x) + 0.5, tall);
      free = from + wide + 14;
      taken.push([from, from + wide]);
    }
    for (const gap of scale.breaks) {
      const a = Math.max(left, plot.x(gap.from)), b = Math.min(right, plot.x(gap.to));
      if (b - a < 8) continue;
      dashed(g, [2, 3], c.muted, a + 3, AXIS - 2.5, b - 3, AXIS - 2.5);
      const wide = g.measureText(gap.label).width, from = (a + b - wide) / 2;
      if (b - a > wide + 12 && taken.every(([l, r]) => from > r + 8 || from + wide < l - 8)) g.fillText(gap.label, from, AXIS / 2);
    }
    const loose = plot.x(1 - scale.loose);
    if (scale.loose > 0 && scale.loose < 1 && loose < right) {
      const from = Math.max(left, loose), label = "no time, in order";
      g.fillStyle = c.stripe;
      g.fillRect(from, AXIS, right - from + 12, tall - AXIS);
      g.fillStyle = c.muted;
      if (outer - from > g.measureText(label).width + 8 && from + 4 > free) g.fillText(label, from + 4, AXIS / 2);
    }
    for (const m of plot.data.marks) {
      if (plot.data.kinds[m[MARK.kind]] !== "start") continue;
      const x = Math.round(plot.x(scale.of(m))) + 0.5;
      if (x >= left && x <= right) dashed(g, [4, 4], c.start, x, AXIS, x, tall);
    }
  };

  const label = (plot, g, c, row, y) => {
    const plain = g.font;
    let x = 8;
    if (row.key) {
      g.fillStyle = c.muted;
      g.fillText(plot.open.has(row.key) ? "▾" : "▸", x, y);
    }
    if (row.key || row.inside) x += 14;
    if (row.initiating) g.font = `bold ${plain}`;
    const text = cut(g, row.label, plot.left - x - 12);
    g.fillStyle = c.text;
    g.fillText(text, x, y);
    x += g.measureText(text).width + 8;
    g.font = plain;
    if (!row.host || plot.left - x <= 40) return;
    g.fillStyle = c.muted;
    g.fillText(cut(g, row.host, plot.left - x - 10), x, y);
  };

  /** The bar from a rank's last progress to what came next; a rank that never spoke again has one to the last time of the plot. */
  const silence = (plot, g, c, row, y, high) => {
    const spans = row.rows.map((i) => plot.quiet[i]).filter(Boolean);
    if (!plot.scale.ofTime || !spans.length) return;
    const untils = spans.map((s) => s[1]);
    const until = untils.includes(null) ? 1 - plot.scale.loose : plot.scale.ofTime(highest(untils));
    const from = plot.x(plot.scale.ofTime(lowest(spans.map((s) => s[0]))));
    const thick = Math.max(1, Math.min(6, high * 0.5));
    g.fillStyle = c.silent;
    g.fillRect(from, y - thick / 2, Math.max(0, plot.x(until) - from), thick);
  };

  /** One mark, or the band of a group's marks with their count where `room` pixels allow it. */
  const item = (plot, g, c, row, it, x, to, y, room) => {
    const m = it.marks[0], kind = plot.data.kinds[m[MARK.kind]], high = plot.rowHeight, roomy = high >= ROOMY;
    const span = it.marks.length === 1 && m[MARK.at] !== null && m[MARK.low] !== m[MARK.high];
    g.fillStyle = g.strokeStyle = c[kind];
    g.globalAlpha = 0.55;
    g.lineWidth = 1;
    if (span && plot.scale.ofTime && roomy) line(g, plot.x(plot.scale.ofTime(m[MARK.low])), y, plot.x(plot.scale.ofTime(m[MARK.high])), y);
    if (to - x > 2) g.fillRect(x, y - 2, to - x, 4);
    g.globalAlpha = 1;
    const telling = row.initiating || kind === "initiating";
    if (high < 6 && !telling) g.fillRect(x - 1, y - Math.max(0.5, high / 2), 2.5, Math.max(1, high));
    else shape(g, kind, x, y, (roomy ? 5 : telling ? 4 : Math.min(4, high)) + (kind === "initiating"), span || m[MARK.at] === null ? c.back : null);
    if (it.marks.length === 1 || !roomy) return;
    const count = `×${it.marks.length.toLocaleString("en")}`, wide = g.measureText(count).width, at = Math.max(x, to) + 9;
    // Where there is no room for the count the tip still tells it.
    if (room < wide + 22) return;
    g.fillStyle = c.back;
    g.fillRect(at - 2, y - 8, wide + 4, 16);
    g.fillStyle = c.text;
    g.fillText(count, at, y);
  };

  const rowAt = (plot, g, c, n, outer) => {
    const row = plot.shown[n], high = plot.rowHeight;
    const y = AXIS + n * high - plot.box.scrollTop + high / 2;
    if (row.initiating) {
      const thick = Math.max(high, 3);
      g.fillStyle = c.initiating;
      g.globalAlpha = 0.14;
      g.fillRect(0, y - thick / 2, outer, thick);
      g.globalAlpha = 1;
      g.fillRect(0, y - thick / 2, 3, thick);
    }
    if (high >= ROOMY) label(plot, g, c, row, y);
    else if (row.initiating) {
      g.fillStyle = c.text;
      g.fillText(row.label, 10, Math.min(Math.max(y, AXIS + 8), plot.canvas.clientHeight - 8));
    }
    g.save();
    g.beginPath();
    g.rect(plot.left - 8, 0, plot.width + 20, 1e6);
    g.clip();
    silence(plot, g, c, row, y, high);
    const all = plot.items(row);
    let taken = -1e9;
    for (const [k, it] of all.entries()) {
      const room = (k + 1 < all.length ? plot.x(all[k + 1].from) : outer) - plot.x(it.to);
      let x = plot.x(it.from);
      // Marks at one place stand side by side as far as there is room; their true place is in the tip.
      if (high >= ROOMY && x < taken + 11 && taken - x < 34) x = taken + 11;
      const to = Math.max(plot.x(it.to), x);
      if (to < plot.left - 8 || x > plot.left + plot.width + 12) continue;
      taken = x;
      item(plot, g, c, row, it, x, to, y, room);
      plot.hits.push({ x, to, y, row, item: it, n });
    }
    g.restore();
  };

  const legend = (plot, c) => {
    for (const canvas of plot.samples) {
      const { kind } = canvas.dataset;
      canvas.parentElement.hidden = kind === "silent" && !plot.scale.ofTime;
      const g = prepare(canvas, 16, 14);
      g.fillStyle = g.strokeStyle = c[kind];
      if (kind === "silent") g.fillRect(0, 4, 16, 6);
      else if (kind === "row") {
        g.fillStyle = c.initiating;
        g.fillRect(0, 0, 3, 14);
        g.globalAlpha = 0.2;
        g.fillRect(3, 0, 13, 14);
      }
      else shape(g, kind, 8, 7, kind === "initiating" ? 6 : 5, null);
    }
  };

  /** Paints what is in view and notes in `plot.hits` where each mark went. */
  const paint = (plot) => {
    const outer = plot.box.clientWidth, tall = Math.min(plot.box.clientHeight, plot.height);
    if (!outer || !plot.scale) return;
    const g = prepare(plot.canvas, outer, tall), c = colours();
    g.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    g.textBaseline = "middle";
    plot.left = outer < 520 ? 88 : 176;
    plot.width = outer - plot.left - 16;
    plot.hits = [];
    backdrop(plot, g, c, tall, outer);
    g.save();
    g.beginPath();
    g.rect(0, AXIS, outer, tall - AXIS);
    g.clip();
    const first = Math.max(0, Math.floor((plot.box.scrollTop - 2) / plot.rowHeight));
    const last = Math.min(plot.shown.length, Math.ceil((plot.box.scrollTop + tall - AXIS) / plot.rowHeight));
    const order = Array.from({ length: last - first }, (_, i) => first + i);
    // Initiating rows come last, so that nothing covers them where rows are thinner than marks.
    order.sort((a, b) => plot.shown[a].initiating - plot.shown[b].initiating);
    for (const n of order) rowAt(plot, g, c, n, outer);
    g.restore();
    legend(plot, c);
    const hit = plot.cursor && plot.cursorHit();
    if (!hit) return;
    g.strokeStyle = c.focus;
    g.lineWidth = 2;
    g.strokeRect(hit.x - 9, hit.y - 9, Math.max(18, hit.to - hit.x + 18), 18);
  };

  firstfault.paint = paint;
  firstfault.AXIS = AXIS;
  firstfault.ROOMY = ROOMY;
}
