// Takes the pictures of the README from what the tests in a real VS Code photographed. Knows no test.
import { copyFileSync, readdirSync } from "node:fs";
import path from "node:path";

import { ROOT, TaskError } from "./process.mjs";

/** The picture of the README for each picture of a test: its sitting and its name without the number. */
const PICTURES = {
  "overview.png": ["first-day", "overview"],
  "report.png": ["report", "theme-light"],
  "three-clicks.png": ["three-clicks", "fixes"],
  "terminal-offer.png": ["logs", "terminal-offer"],
};

/** Copies the pictures into extension/images. */
export function takePictures() {
  for (const [picture, [sitting, name]] of Object.entries(PICTURES)) {
    const folder = path.join(ROOT, "tests", "extension", "screenshots", sitting);
    const found = readdirSync(folder).find((file) => new RegExp(`^\\d+-${name}\\.png$`).test(file));
    if (found === undefined) throw new TaskError(`the tests left no picture ${name} in ${folder}`);
    copyFileSync(path.join(folder, found), path.join(ROOT, "extension", "images", picture));
  }
}
