// npm run bench: the speed measurements of tests/bench. Arguments go to them.
import { existsSync } from "node:fs";
import path from "node:path";

import { ROOT, run, TaskError } from "../process.mjs";
import { preparePython } from "../python.mjs";

export default function bench(args) {
  const python = preparePython(["server", "dev"]);
  if (!existsSync(path.join(ROOT, "tests", "bench", "__main__.py"))) throw new TaskError("there is no tests/bench/__main__.py in this checkout");
  run(python, ["-m", "tests.bench", ...args], { label: "the measurements", env: { PYTHONPATH: path.join(ROOT, "server") } });
}
