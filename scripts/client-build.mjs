// Bundles the client into one file. Knows nothing of the server.
import path from "node:path";
import { build } from "esbuild";

import { ROOT } from "./process.mjs";

/** Writes extension/dist/main.js. VS Code 1.93, the oldest supported, runs extensions on Node 20. */
export async function buildClient({ minify = false } = {}) {
  await build({
    absWorkingDir: ROOT,
    entryPoints: [path.join("extension", "src", "main.ts")],
    outfile: path.join("extension", "dist", "main.js"),
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["vscode"],
    sourcemap: !minify,
    minify,
    legalComments: "none",
    logLevel: "warning",
  });
}
