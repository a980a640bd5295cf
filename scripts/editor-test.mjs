// Prepares and runs the test in a real VS Code. Knows the parts it needs, not what the test asserts.
import { existsSync, rmSync } from "node:fs";
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

/** Runs the test with a packaged VSIX. `python` has pip; a bare environment is made from it for the server. */
export function runEditorTest(python, vsix) {
  const editor = installCodeServer(python);
  rmSync(path.join(ROOT, "tests", "extension", "screenshots"), { recursive: true, force: true });
  run(process.execPath, ["--test", "--test-reporter=spec", path.join("tests", "extension", "editor.test.mjs")], {
    label: "the editor test",
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
