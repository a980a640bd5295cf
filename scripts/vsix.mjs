// Packs the extension into a VSIX. Knows nothing of what the bundled packages are.
import { readFileSync, renameSync } from "node:fs";
import path from "node:path";

import { ROOT, runTool } from "./process.mjs";

/** Packs what .vscodeignore lets through for a target; the file is named after it. */
export function packVsix(target) {
  const { name, version } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const file = path.join(ROOT, "extension", "dist", `${name}-${target}-${version}.vsix`);
  const platform = target === "universal" ? [] : ["--target", target];
  // README links are relative, and the project names no address to resolve them against.
  const options = ["--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links"];
  runTool("@vscode/vsce", "vsce", ["package", ...options, ...platform, "--out", `${file}.part`]);
  // A half-written file never bears the name that others look for.
  renameSync(`${file}.part`, file);
  return file;
}
