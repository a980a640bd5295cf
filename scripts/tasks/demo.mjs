// npm run demo: diagnoses a log that comes with the project, from nothing but Node and Python.
import path from "node:path";

import { ROOT, run } from "../process.mjs";
import { preparePython } from "../python.mjs";

export default function demo(args) {
  const python = preparePython();
  const logs = args.length ? args.map((arg) => path.resolve(process.env.INIT_CWD ?? ".", arg)) : [path.join("samples", "stuck-rank.log")];
  const program = path.join(path.dirname(python), process.platform === "win32" ? "firstfault.exe" : "firstfault");
  process.stdout.write(`$ firstfault diagnose ${logs.map((log) => (/\s/.test(log) ? JSON.stringify(log) : log)).join(" ")}\n`);
  // Status 1 says that a failure was diagnosed, which is what a demonstration is for.
  const status = run(program, ["diagnose", ...logs], { cwd: ROOT, accept: [0, 1] });
  if (status === 1) process.stdout.write("\nTry it on a log of your own: npm run demo -- PATH\n");
  return 0;
}
