// Which rows the plot shows and what stands in each: ranks that did the same can share one. Knows no pixel.
"use strict";
{
  const { MARK } = firstfault;
  const FAILING = new Set(["initiating", "collateral", "exit"]);

  /** Adds a value to the list of a key. */
  const collect = (map, key, value) => {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
  };
  const lowest = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
  const highest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);

  /** `0–2, 7, 9`: ranks in ascending order, runs of three or more as a range. */
  const ranksText = (ranks) => {
    const parts = [];
    for (let a = 0; a < ranks.length; ) {
      let b = a;
      while (b + 1 < ranks.length && ranks[b + 1] === ranks[b] + 1) b++;
      if (b - a >= 2) parts.push(`${ranks[a]}–${ranks[b]}`);
      else for (let i = a; i <= b; i++) parts.push(String(ranks[i]));
      a = b + 1;
    }
    return parts.join(", ");
  };

  /** For each row of the data when nothing came after its last progress: [from, until], until null where nothing followed; else null. */
  const silence = (data, byRow) => {
    const kind = (m) => data.kinds[m[MARK.kind]];
    return byRow.map((marks) => {
      const last = highest(marks.filter((m) => kind(m) === "progress" && m[MARK.at] !== null).map((m) => m[MARK.at]));
      if (last === -Infinity) return null;
      const then = lowest(marks.filter((m) => FAILING.has(kind(m)) && m[MARK.at] !== null && m[MARK.at] >= last).map((m) => m[MARK.at]));
      return [last, then === Infinity ? null : then];
    });
  };

  /** The rows to show. In mode `grouped` ranks with the same marks share a row, which is followed by its ranks if its key is in `open`. */
  const layout = (data, byRow, mode, open) => {
    const { rows } = data;
    const single = (i, inside) => ({ rows: [i], label: rows[i][0], host: rows[i][2], initiating: rows[i][3] === 1, inside });
    if (mode !== "grouped") return rows.map((_, i) => single(i, false));
    const groups = new Map();
    rows.forEach((row, i) => {
      const marks = byRow[i].map((m) => `${m[MARK.kind]}.${m[MARK.failure]}`).sort();
      collect(groups, row[1] === null ? `other ${i}` : `${row[3]} ${marks.join()}`, i);
    });
    const shown = [];
    // Initiating ranks come first.
    const ordered = [...groups].sort(([, a], [, b]) => rows[b[0]][3] - rows[a[0]][3] || a[0] - b[0]);
    for (const [key, members] of ordered) {
      if (members.length === 1) {
        shown.push(single(members[0], false));
        continue;
      }
      const label = `${members.length.toLocaleString("en")} ranks`;
      shown.push({ rows: members, key, label, host: ranksText(members.map((i) => rows[i][1])), initiating: rows[members[0]][3] === 1 });
      if (open.has(key)) shown.push(...members.map((i) => single(i, true)));
    }
    return shown;
  };

  /** What is drawn in a row, from left to right: one item a mark, or in a group one item for marks of the same kind and failure. */
  const items = (row, byRow, scale) => {
    if (row.scale === scale) return row.items;
    const groups = new Map();
    for (const i of row.rows) {
      for (const m of byRow[i]) collect(groups, row.key ? `${m[MARK.kind]}.${m[MARK.failure]}.${m[MARK.at] === null}` : m, m);
    }
    row.items = [...groups.values()].map((marks) => {
      const at = marks.map(scale.of);
      return { marks, from: lowest(at), to: highest(at) };
    });
    row.items.sort((a, b) => a.from - b.from);
    row.scale = scale;
    return row.items;
  };

  firstfault.rows = { silence, layout, items, lowest, highest };
}
