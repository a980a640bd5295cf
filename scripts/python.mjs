// Finds a Python for the tasks and keeps the checkout's own environment. Knows no task.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { output, ROOT, run, TaskError } from "./process.mjs";

const OLDEST = [3, 10];
const NEWEST_TRIED = 14;
const SERVER = path.join(ROOT, "server");
const ENVIRONMENT = path.join(ROOT, ".venv");

/** The Python of the checkout's environment, with the package of server/ and the named extras installed in place. */
export function preparePython(extras = []) {
  const python = environmentPython();
  const stamp = path.join(ENVIRONMENT, `firstfault-${["base", ...extras].join("-")}.stamp`);
  const wanted = createHash("sha256").update(readFileSync(path.join(SERVER, "pyproject.toml"))).update(ROOT).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return python;
  process.stdout.write(`installing the Python packages${extras.length ? ` (${extras.join(", ")})` : ""} into .venv\n`);
  const target = extras.length ? `${SERVER}[${extras.join(",")}]` : SERVER;
  run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", target], { label: "pip" });
  writeFileSync(stamp, wanted);
  return python;
}

/** The Python of .venv, which is made when it is missing. */
function environmentPython() {
  const python = process.platform === "win32" ? path.join(ENVIRONMENT, "Scripts", "python.exe") : path.join(ENVIRONMENT, "bin", "python");
  if (existsSync(python) && fits(version(python))) return python;
  const { command, args } = findPython();
  process.stdout.write(`making .venv with Python ${version(command, args).join(".")}\n`);
  run(command, [...args, "-m", "venv", "--clear", ENVIRONMENT], { label: `${command} -m venv (on Debian and Ubuntu it needs the package python3-venv)` });
  return python;
}

/** A Python on PATH that is new enough; the error lists what was tried. */
function findPython() {
  const windows = process.platform === "win32";
  const names = windows ? [["py", "-3"], ["python"]] : [["python3"], ["python"]];
  if (process.env.FIRSTFAULT_PYTHON) names.unshift([process.env.FIRSTFAULT_PYTHON]);
  if (!windows) for (let minor = NEWEST_TRIED; minor >= OLDEST[1]; minor--) names.push([`python3.${minor}`]);
  const tried = [];
  for (const [command, ...args] of names) {
    const found = version(command, args);
    if (fits(found)) return { command, args };
    tried.push(`${[command, ...args].join(" ")}: ${found ? `Python ${found.join(".")}` : "not found or broken"}`);
  }
  throw new TaskError(
    `no Python ${OLDEST.join(".")} or newer was found\n  reason: ${tried.join("; ")}\n  where: PATH\n` +
      "  help: install Python 3.10 or newer, or set FIRSTFAULT_PYTHON to the path of one, and run the task again",
  );
}

function version(command, args = []) {
  const text = output(command, [...args, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
  return text === undefined ? undefined : text.trim().split(".").map(Number);
}

function fits(found) {
  return found !== undefined && found[0] === OLDEST[0] && found[1] >= OLDEST[1];
}
