// Where a mark stands across the plot, between 0 and 1, and what the axis says. Knows no pixel.
"use strict";
{
  const MARK = { row: 0, kind: 1, at: 2, low: 3, high: 4, file: 5, line: 6, failure: 7, says: 8 };
  const pad = (n, width = 2) => String(n).padStart(width, "0");

  /** A time of the plot for people. `fine` adds milliseconds, `day` the date. */
  const clockText = (data, ms, fine, day) => {
    const at = new Date(data.start + ms);
    const text = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}${fine ? `.${pad(at.getUTCMilliseconds(), 3)}` : ""}`;
    if (!day || data.clock === "time-of-day") return text;
    const date = `${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
    return data.clock === "date" ? `${at.getUTCFullYear()}-${date} ${text}` : `${date} ${text}`;
  };

  /** A duration in the unit that a person would use. */
  const durationText = (ms) => {
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 120e3) return `${(ms / 1000).toFixed(ms < 10e3 ? 1 : 0)} s`;
    if (ms < 7200e3) return `${Math.round(ms / 60e3)} min`;
    return `${(ms / 3600e3).toFixed(1)} h`;
  };

  const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3,
    14400e3, 43200e3, 86400e3];

  /** The untimed marks have a place of their own behind the timed ones, in which only the order counts. */
  const gutter = (data) => {
    const loose = data.marks.filter((m) => m[MARK.at] === null);
    const places = new Map();
    for (const m of loose) {
      const key = `${m[MARK.file]} ${m[MARK.line]}`;
      if (!places.has(key)) places.set(key, places.size);
    }
    const timed = loose.length < data.marks.length;
    const width = loose.length === 0 ? 0 : timed ? Math.min(0.4, 0.08 + 0.025 * places.size) : 1;
    return { width, of: (m) => 1 - width + (width * (places.get(`${m[MARK.file]} ${m[MARK.line]}`) + 0.7)) / (places.size + 0.4) };
  };

  const timeScale = (data) => {
    const span = Math.max(1, ...data.marks.map((m) => m[MARK.high] ?? 0));
    const loose = gutter(data);
    const ofTime = (ms) => (0.02 + 0.96 * (ms / span)) * (1 - loose.width);
    const ticks = (from, to, most) => {
      const back = (u) => ((u / (1 - loose.width) - 0.02) / 0.96) * span;
      const low = Math.max(0, back(from)), high = Math.min(span, back(to));
      const step = STEPS.find((s) => (high - low) / s <= most) ?? Math.ceil((high - low) / most / 86400e3) * 86400e3;
      const out = [];
      const first = Math.ceil((data.start + low) / step) * step - data.start;
      for (let at = first; at <= high && out.length < 50; at += step) out.push({ u: ofTime(at), label: clockText(data, at, step < 1000, step >= 86400e3) });
      return out;
    };
    return { name: "time", of: (m) => (m[MARK.at] === null ? loose.of(m) : ofTime(m[MARK.at])), ofTime, ticks, breaks: [], loose: loose.width };
  };

  /** Time whose long gaps are shortened, so that what happened in the last second can be told apart from a ten-minute wait. */
  const gapScale = (data) => {
    const loose = gutter(data);
    const times = [...new Set(data.marks.flatMap((m) => [m[MARK.low], m[MARK.high]]).filter((t) => t !== null))].sort((a, b) => a - b);
    const gaps = times.slice(1).map((t, i) => t - times[i]);
    const sorted = [...gaps].sort((a, b) => a - b);
    const unit = Math.max(1, sorted[sorted.length >> 1] ?? 1, (times.at(-1) - times[0]) / 2000);
    const widths = gaps.map((g) => (g <= unit ? g / unit : 1 + Math.log2(g / unit)));
    const sums = [0];
    for (const w of widths) sums.push(sums.at(-1) + w);
    const whole = sums.at(-1) || 1;
    const ofTime = (ms) => {
      let low = 0, high = times.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (times[middle] <= ms) low = middle;
        else high = middle - 1;
      }
      const inside = low < gaps.length && gaps[low] > 0 ? (ms - times[low]) / gaps[low] : 0;
      const place = (sums[low] + Math.min(1, Math.max(0, inside)) * (widths[low] ?? 0)) / whole;
      return (0.02 + 0.96 * place) * (1 - loose.width);
    };
    const breaks = gaps.flatMap((g, i) =>
      g > 16 * unit ? [{ from: ofTime(times[i]), to: ofTime(times[i + 1]), label: durationText(g) }] : [],
    );
    const ticks = () => times.map((t) => ({ u: ofTime(t), label: clockText(data, t, unit < 1000, false) }));
    return { name: "gaps", of: (m) => (m[MARK.at] === null ? loose.of(m) : ofTime(m[MARK.at])), ofTime, ticks, breaks, loose: loose.width };
  };

  /** One step for each line that has a mark: by line number in one file, by time and line in several. */
  const orderScale = (data) => {
    const one = data.files.length === 1;
    const key = (m) => `${m[MARK.file]} ${m[MARK.line]}`;
    const sorted = one ? [...data.marks].sort((a, b) => a[MARK.line] - b[MARK.line]) : data.marks;
    const places = new Map();
    for (const m of sorted) if (!places.has(key(m))) places.set(key(m), { at: places.size, line: m[MARK.line] });
    const of = (m) => (places.get(key(m)).at + 0.5) / places.size;
    const ticks = () => (one ? [...places.values()].map((p) => ({ u: (p.at + 0.5) / places.size, label: `line ${p.line}` })) : []);
    return { name: "order", of, ofTime: null, ticks, breaks: [], loose: 0 };
  };

  firstfault.MARK = MARK;
  firstfault.clockText = clockText;
  firstfault.durationText = durationText;
  firstfault.scales = { gaps: gapScale, time: timeScale, order: orderScale };
}
