// Finds a Python that can run the server. Knows nothing of the server itself.
import { execFile } from "node:child_process";
import * as vscode from "vscode";

const OLDEST: readonly [number, number] = [3, 10];
const PROBE = "import sys; print('%d %d %s' % (sys.version_info[0], sys.version_info[1], sys.executable))";
const PROBE_TIMEOUT_MS = 15_000;

/** One place that was looked at. `result` says in a few words what was there. */
interface Attempt {
  command: string;
  origin: string;
  result: string;
}

/** A Python that fits. */
export interface Interpreter {
  command: string;
  args: string[];
  version: string;
  origin: string;
}

/** No Python fits; the message lists everything that was tried. */
export class NoInterpreter extends Error {
  constructor(readonly attempts: readonly Attempt[]) {
    super(
      `FirstFault found no Python ${OLDEST.join(".")} or newer. Tried: ` +
        attempts.map((attempt) => `${attempt.command} (${attempt.origin}: ${attempt.result})`).join("; ") +
        ". Set firstfault.interpreter to the path of one; it needs no packages.",
    );
  }
}

/**
 * The first Python that is new enough: the setting, the environment of an already active Python extension, then PATH.
 * The first two are taken in trusted workspaces only. Throws NoInterpreter.
 */
export async function findInterpreter(cwd: string): Promise<Interpreter> {
  const attempts: Attempt[] = [];
  for (const candidate of candidates()) {
    const probed = await probe(candidate.command, candidate.args, cwd);
    if (typeof probed !== "string") return { ...candidate, ...probed };
    attempts.push({ command: [candidate.command, ...candidate.args].join(" "), origin: candidate.origin, result: probed });
    // A setting is an order: another Python than the one that was asked for would surprise.
    if (candidate.origin === SETTING) break;
  }
  throw new NoInterpreter(attempts);
}

const SETTING = "setting firstfault.interpreter";

function candidates(): Omit<Interpreter, "version">[] {
  const found: Omit<Interpreter, "version">[] = [];
  if (vscode.workspace.isTrusted) {
    const configured = vscode.workspace.getConfiguration("firstfault").get<string>("interpreter", "").trim();
    if (configured) return [{ command: configured, args: [], origin: SETTING }];
    const environment = activeEnvironment();
    if (environment) found.push({ command: environment, args: [], origin: "environment of the Python extension" });
  }
  const names: [string, ...string[]][] = process.platform === "win32" ? [["py", "-3"], ["python"], ["python3"]] : [["python3"], ["python"]];
  // Clusters keep an old python3 and put newer ones beside it under their full name.
  if (process.platform !== "win32") for (let minor = 14; minor >= OLDEST[1]; minor--) names.push([`python3.${minor}`]);
  for (const [command, ...args] of names) found.push({ command, args, origin: "PATH" });
  return found;
}

/** The interpreter chosen in the Python extension. That extension is never activated for it: its discovery can take minutes on a cluster. */
function activeEnvironment(): string | undefined {
  interface PythonApi {
    environments?: { getActiveEnvironmentPath?(resource?: vscode.Uri): { path?: string } | undefined };
  }
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (!extension?.isActive) return undefined;
  const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
  return extension.exports.environments?.getActiveEnvironmentPath?.(resource)?.path;
}

/** The version of a Python, or a few words on why it does not fit. */
function probe(command: string, args: string[], cwd: string): Promise<{ version: string } | string> {
  return new Promise((resolve) => {
    execFile(command, [...args, "-I", "-c", PROBE], { cwd, timeout: PROBE_TIMEOUT_MS, windowsHide: true }, (error, stdout) => {
      const match = /^(\d+) (\d+) /.exec(stdout);
      if (error) {
        const code = (error as NodeJS.ErrnoException).code;
        resolve(code === "ENOENT" ? "not found" : error.killed ? "gave no answer in 15 s" : code === "EACCES" ? "may not be run" : "is not a working Python 3");
      } else if (!match) {
        resolve("is not Python");
      } else {
        const [major, minor] = [Number(match[1]), Number(match[2])];
        const fits = major === OLDEST[0] && minor >= OLDEST[1];
        resolve(fits ? { version: `${major}.${minor}` } : `is Python ${major}.${minor}`);
      }
    });
  });
}
