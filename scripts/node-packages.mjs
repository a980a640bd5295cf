// Installs the npm packages of package-lock.json. Knows no task.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { npmScript, ROOT, run } from "./process.mjs";

/** Runs `npm ci` unless exactly these packages were installed before. No package runs a script of its own at installation. */
export function prepareNodePackages() {
  const stamp = path.join(ROOT, "node_modules", ".firstfault.stamp");
  const wanted = createHash("sha256").update(readFileSync(path.join(ROOT, "package-lock.json"))).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  process.stdout.write("installing the npm packages into node_modules\n");
  run(process.execPath, [npmScript(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { label: "npm ci" });
  writeFileSync(stamp, wanted);
}
