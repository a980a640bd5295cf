// The arithmetic of excerpts: which lines of a file one has, and where each of them stands in it. Knows no file and no editor.

/** Lines `first` to `last` of a file, 1-based. */
export interface Part {
  first: number;
  last: number;
}

/** Lines before and after one that matters. */
const CONTEXT_LINES = 200;
/** The server gives this many lines at once, and an excerpt has this many parts at most. */
const MOST_LINES = 2_000;
const MOST_PARTS = 12;

/** The parts around 1-based lines, in order; parts that touch are one, up to what the server gives at once. */
export function partsAround(lines: readonly number[]): Part[] {
  const parts: Part[] = [];
  for (const line of [...lines].sort((a, b) => a - b)) {
    const [first, last] = [Math.max(1, line - CONTEXT_LINES), line + CONTEXT_LINES];
    const before = parts.at(-1);
    if (before === undefined || first > before.last + 1) {
      if (parts.length < MOST_PARTS) parts.push({ first, last });
    } else if (last - before.first < MOST_LINES) {
      before.last = last;
    } else if (parts.length < MOST_PARTS && last > before.last) {
      parts.push({ first: before.last + 1, last });
    }
  }
  return parts;
}

/** Parts as they stand in an address: `903-1303,5000-5400`. */
export function written(parts: readonly Part[]): string {
  return parts.map(({ first, last }) => `${first}-${last}`).join(",");
}

/** The parts that an address names. */
export function read(text: string): Part[] {
  return [...text.matchAll(/(\d+)-(\d+)/g)].map(([, first, last]) => ({ first: Number(first), last: Number(last) }));
}

/** The number in the file of each line of an excerpt; none for the line between two parts. */
export function numbersOf(parts: readonly Part[]): (number | undefined)[] {
  return parts.flatMap(({ first, last }, index) => {
    const numbers = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    return index > 0 ? [undefined, ...numbers] : numbers;
  });
}

/** Where a 1-based line of the file stands in the excerpt, 0-based; undefined when the excerpt lacks it. */
export function positionOf(parts: readonly Part[], line: number): number | undefined {
  let start = 0;
  for (const { first, last } of parts) {
    if (line >= first && line <= last) return start + line - first;
    start += last - first + 2;
  }
  return undefined;
}
