// npm test: sets everything up and runs every check and test of the project.
// Arguments go to pytest alone: npm test -- tests/lsp -k hover

import { bundle, ownTarget } from "../bundle.mjs";
import { bundledServerTests, clientTests, eslint, grammarTests, mypy, pytest, ruff, tsc } from "../checks.mjs";
import { editorTestObstacle, runEditorTest } from "../editor-test.mjs";
import { prepareNodePackages } from "../node-packages.mjs";
import { heading, TaskError } from "../process.mjs";
import { preparePython } from "../python.mjs";
import { runSteps } from "../steps.mjs";

export default async function test(args) {
  heading("set up");
  const python = preparePython(["server", "dev"]);
  if (args.length) {
    pytest(python, args);
    return 0;
  }
  prepareNodePackages();
  const { buildClient } = await import("../client-build.mjs");
  const { packVsix } = await import("../vsix.mjs");
  let vsix;
  const obstacle = editorTestObstacle();
  const steps = [
    ["ruff", () => ruff(python)],
    ["mypy", () => mypy(python)],
    ["pytest", () => pytest(python)],
    ["tsc", () => tsc()],
    ["eslint", () => eslint()],
    ["grammar tests", () => grammarTests()],
    ["build", () => buildClient({ minify: true })],
    [
      "VSIX",
      () => {
        bundle(python, ownTarget());
        vsix = packVsix(ownTarget());
      },
    ],
    ["client tests", () => clientTests()],
    ["bundled server", () => bundledServerTests(python)],
  ];
  if (obstacle === undefined) steps.push(["VS Code", () => runEditorTest(python, needed(vsix))]);
  else if (process.env.FIRSTFAULT_REQUIRE_EDITOR === "1") steps.push(["VS Code", () => fail(obstacle)]);
  const status = await runSteps(steps);
  if (obstacle !== undefined) process.stdout.write(`\n*** SKIPPED: the test in a real VS Code did not run ***\n    ${obstacle}\n`);
  return status;
}

function needed(vsix) {
  return vsix ?? fail("no VSIX was packed");
}

function fail(message) {
  throw new TaskError(message);
}
