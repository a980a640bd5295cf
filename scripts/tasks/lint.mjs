// npm run lint: ruff and mypy (strict) for the server and the tests, tsc (strict) and eslint for the client.

import { prepareNodePackages } from "../node-packages.mjs";
import { preparePython } from "../python.mjs";
import { eslint, mypy, ruff, tsc } from "../checks.mjs";
import { runSteps } from "../steps.mjs";

export default function lint() {
  const python = preparePython(["server", "dev"]);
  prepareNodePackages();
  return runSteps([
    ["ruff", () => ruff(python)],
    ["mypy", () => mypy(python)],
    ["tsc", () => tsc()],
    ["eslint", () => eslint()],
  ]);
}
