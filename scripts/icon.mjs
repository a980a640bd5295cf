// Draws the extension's icon, extension/icon.png: three ranks that wait and the one that failed first. Run by hand after a change here.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";

import { ROOT } from "./process.mjs";

const SIZE = 128;
const SAMPLES = 4;
const BACKGROUND = [27, 31, 39];
const WAITING = [112, 124, 145];
const FAULT = [240, 84, 79];
const LIGHT = [255, 255, 255];

/** Each bar is one rank: how far it got. The third one stopped first. */
const BARS = [84, 84, 44, 84];

/** The colour at a point of the icon, or undefined outside its rounded square. */
function colourAt(x, y) {
  if (!inRoundedBox(x, y, 0, 0, SIZE, SIZE, 24)) return undefined;
  for (const [index, length] of BARS.entries()) {
    const top = 22 + index * 23;
    const fault = index === 2;
    if (fault && Math.hypot(x - (22 + length + 13), y - (top + 8)) < 8) return LIGHT;
    if (fault && Math.hypot(x - (22 + length + 13), y - (top + 8)) < 12) return FAULT;
    if (inRoundedBox(x, y, 22, top, length, 16, 5)) return fault ? FAULT : WAITING;
  }
  return BACKGROUND;
}

function inRoundedBox(x, y, left, top, width, height, radius) {
  const dx = Math.max(left + radius - x, 0, x - (left + width - radius));
  const dy = Math.max(top + radius - y, 0, y - (top + height - radius));
  return x >= left && y >= top && x <= left + width && y <= top + height && Math.hypot(dx, dy) <= radius;
}

/** One pixel, averaged over sub-pixels so that edges are smooth: [red, green, blue, opacity]. */
function pixel(column, row) {
  const sum = [0, 0, 0];
  let inside = 0;
  for (let i = 0; i < SAMPLES * SAMPLES; i++) {
    const colour = colourAt(column + ((i % SAMPLES) + 0.5) / SAMPLES, row + (Math.floor(i / SAMPLES) + 0.5) / SAMPLES);
    if (colour === undefined) continue;
    inside++;
    colour.forEach((value, channel) => (sum[channel] += value));
  }
  return [...sum.map((value) => (inside ? Math.round(value / inside) : 0)), Math.round((255 * inside) / SAMPLES ** 2)];
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
header.set([8, 6, 0, 0, 0], 8);
const rows = Array.from({ length: SIZE }, (_, row) => [0, ...Array.from({ length: SIZE }, (_unused, column) => pixel(column, row)).flat()]);
const png = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  chunk("IHDR", header),
  chunk("IDAT", deflateSync(Buffer.from(rows.flat()), { level: 9 })),
  chunk("IEND", Buffer.alloc(0)),
]);
writeFileSync(path.join(ROOT, "extension", "icon.png"), png);
