// npm run package: the VSIX of this machine's platform in extension/dist.
// --target NAME for another platform, --all for every one and the universal one, --lock to pin the bundled packages anew.
import { bundle, ownTarget, TARGETS, writeLocks } from "../bundle.mjs";
import { prepareNodePackages } from "../node-packages.mjs";
import { preparePython } from "../python.mjs";
import { packVsix } from "../vsix.mjs";

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
