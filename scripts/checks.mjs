// Each check of the project, as a function that throws when it fails. Knows not when they run.
import path from "node:path";

import { ROOT, run, runTool } from "./process.mjs";

const SERVER = path.join(ROOT, "server");

export function ruff(python) {
  run(python, ["-m", "ruff", "check", "--config", path.join(SERVER, "pyproject.toml"), "server", "tests"], { label: "ruff" });
}

export function mypy(python) {
  run(python, ["-m", "mypy", "firstfault", "main.py"], { cwd: SERVER, label: "mypy" });
}

/** Runs pytest over all tests on two processes; `args` go to pytest. */
export function pytest(python, args = []) {
  // Test files of different parts may have the same name.
  run(python, ["-m", "pytest", "--import-mode=importlib", "-n", "2", "--dist", "loadfile", ...(args.length ? args : ["tests"])], { label: "pytest" });
}

export function tsc() {
  runTool("typescript", "tsc", ["-p", path.join("extension", "tsconfig.json")]);
}

export function eslint() {
  runTool("eslint", "eslint", ["."], { cwd: path.join(ROOT, "extension") });
}

export function grammarTests() {
  const stub = path.join("tests", "extension", "grammar", "text.log.tmLanguage.json");
  runTool("vscode-tmgrammar-test", "vscode-tmgrammar-test", ["--config", "package.json", "-g", stub, "tests/extension/grammar/*.test.log"]);
}

/** The tests of the manifest and of what in the client needs no editor. */
export function clientTests() {
  const files = ["manifest", "client"].map((name) => path.join("tests", "extension", `${name}.test.mjs`));
  run(process.execPath, ["--test", "--test-reporter=spec", ...files], { label: "the client's tests" });
}

/** Runs the server of a VSIX on every Python of this machine. `python` has pip. */
export function bundledServerTests(python) {
  const test = path.join("tests", "extension", "server.test.mjs");
  run(process.execPath, ["--test", "--test-reporter=spec", test], { label: "the tests of the bundled server", env: { FIRSTFAULT_PYTHON_WITH_PIP: python } });
}
