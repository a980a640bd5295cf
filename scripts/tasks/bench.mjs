// npm run bench: FirstFault beside ripgrep on generated logs. Arguments go to tests/bench/run.py: npm run bench -- --size 256
import path from "node:path";

import { ROOT, run } from "../process.mjs";
import { preparePython } from "../python.mjs";

export default function bench(args) {
  return run(preparePython(["server", "dev"]), [path.join(ROOT, "tests", "bench", "run.py"), ...args], { label: "the benchmark" });
}
