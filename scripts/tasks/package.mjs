// npm run package: the VSIX of this machine's platform in extension/dist.
// --target NAME for another platform, --all for every one and the universal one, --lock to pin the bundled packages anew.
import path from "node:path";
import { readFileSync } from "node:fs";

import { bundle, ownTarget, TARGETS, writeLocks } from "../bundle.mjs";
import { prepareNodePackages } from "../node-packages.mjs";
import { ROOT, runTool } from "../process.mjs";
import { preparePython } from "../python.mjs";

export default async function main(args) {
  const python = preparePython();
  if (args.includes("--lock")) {
    writeLocks(python);
    return;
  }
  const named = args.flatMap((arg, index) => (arg === "--target" ? args[index + 1].split(",") : arg.startsWith("--target=") ? arg.slice(9).split(",") : []));
  const targets = args.includes("--all") ? TARGETS : named.length ? named : [ownTarget()];
  prepareNodePackages();
  const { buildClient } = await import("../client-build.mjs");
  await buildClient({ minify: true });
  for (const target of targets) {
    bundle(python, target);
    process.stdout.write(`${packVsix(target)}\n`);
  }
}

/** Packs what .vscodeignore lets through; the file is named after the target. */
function packVsix(target) {
  const { name, version } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const file = path.join(ROOT, "extension", "dist", `${name}-${target}-${version}.vsix`);
  const platform = target === "universal" ? [] : ["--target", target];
  // README links are relative and the project names no address to resolve them against.
  runTool("@vscode/vsce", "vsce", ["package", "--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links", ...platform, "--out", file]);
  return file;
}
