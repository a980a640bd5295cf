// Prepares and runs the tests in a real VS Code. Knows the parts they need, not what they assert.
import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

import { installCodeServer } from "./code-server.mjs";
import { output, ROOT, run } from "./process.mjs";

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Why the test cannot run here, or undefined. */
export function editorTestObstacle() {
  if (process.platform === "win32") return "code-server, the VS Code of the test, does not run on Windows";
  if (browser() === undefined) return `no Chromium was found (${BROWSERS.join(", ")}, FIRSTFAULT_CHROMIUM); on Debian: apt-get install chromium libkrb5-dev`;
  return undefined;
}

/**
 * Runs the tests with a packaged VSIX, one editor after the other, or only those of which one of `names` is a part of the file name.
 * `python` has pip; a bare environment is made from it for the server.
 */
export function runEditorTest(python, vsix, names = []) {
  const editor = installCodeServer(python);
  const folder = path.join("tests", "extension");
  const files = readdirSync(path.join(ROOT, folder)).filter((file) => /^editor.*\.test\.mjs$/.test(file));
  const chosen = files.filter((file) => names.length === 0 || names.some((name) => file.includes(name))).map((file) => path.join(folder, file));
  if (names.length === 0) rmSync(path.join(ROOT, folder, "screenshots"), { recursive: true, force: true });
  run(process.execPath, ["--test", "--test-concurrency=1", "--test-reporter=spec", ...chosen], {
    label: "the editor tests",
    env: {
      FIRSTFAULT_EDITOR: JSON.stringify(editor),
      FIRSTFAULT_CHROMIUM: browser(),
      FIRSTFAULT_VSIX: vsix,
      FIRSTFAULT_BASE_PYTHON: output(python, ["-c", "import sys; print(sys._base_executable)"]).trim(),
    },
  });
}

function browser() {
  return [process.env.FIRSTFAULT_CHROMIUM, ...BROWSERS].find((place) => place && existsSync(place));
}
