// Runs the programs that the tasks are made of. Knows no task.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout, whatever folder a task was started from. */
export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Something the person at the keyboard can put right: shown without a stack trace. */
export class TaskError extends Error {}

/** Runs a program with its output shown; throws TaskError when it does not exit with one of `accept`. Returns the exit status. */
export function run(program, args, { cwd = ROOT, env = {}, accept = [0], label = path.basename(program) } = {}) {
  const result = spawnSync(program, args, { cwd, env: { ...process.env, ...env }, stdio: "inherit" });
  if (result.error) throw new TaskError(`${label} could not be started: ${result.error.message}`);
  if (!accept.includes(result.status)) {
    throw new TaskError(`${label} ended with ${result.signal ? `signal ${result.signal}` : `exit status ${result.status}`}`);
  }
  return result.status;
}

/** Runs a program and returns what it printed; `undefined` when it is missing or fails. */
export function output(program, args, { cwd = ROOT, env = {} } = {}) {
  const result = spawnSync(program, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", timeout: 60_000 });
  return result.status === 0 ? result.stdout : undefined;
}

/** Runs the command-line program of an installed npm package with this Node. */
export function runTool(name, program, args, options = {}) {
  const manifest = createRequire(path.join(ROOT, "package.json")).resolve(`${name}/package.json`);
  const bin = createRequire(import.meta.url)(manifest).bin;
  const script = typeof bin === "string" ? bin : bin[program];
  return run(process.execPath, [path.join(path.dirname(manifest), script), ...args], { label: program, ...options });
}

/** The npm that belongs to this Node, as a script that Node can run (a `.cmd` file cannot be started without a shell). */
export function npmScript() {
  const home = path.dirname(process.execPath);
  const places = [
    process.env.npm_execpath,
    path.join(home, "node_modules", "npm", "bin", "npm-cli.js"),
    path.join(home, "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
    path.join(home, "..", "share", "nodejs", "npm", "bin", "npm-cli.js"),
  ];
  const found = places.find((place) => place && /npm-cli\.js$/.test(place) && existsSync(place));
  if (!found) throw new TaskError(`npm was not found beside ${process.execPath}; start the task with "npm run …"`);
  return found;
}

/** Prints the heading of a step, so that a long run can be skimmed. */
export function heading(text) {
  process.stdout.write(`\n\u001b[1m== ${text}\u001b[0m\n`);
}
