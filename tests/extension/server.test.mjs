// The server as a VSIX carries it, on every Python that is installed here and without a single package of that Python.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { bundle, ownTarget } from "../../scripts/bundle.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const rpc = createRequire(createRequire(path.join(ROOT, "package.json")).resolve("vscode-languageclient"))("vscode-languageserver-protocol/node");

/** Every fitting Python on PATH, once each: [program, version]. Tools that switch versions leave programs that only say so. */
function pythons() {
  const found = new Map();
  for (const name of ["python3", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"]) {
    const print = "import sys; print(sys._base_executable or sys.executable, '%d.%d' % sys.version_info[:2])";
    const { status, stdout } = spawnSync(name, ["-c", print], { encoding: "utf8" });
    const [, program, version] = /^(.*) (3\.\d+)\s*$/.exec(stdout ?? "") ?? [];
    if (status === 0 && Number(version.slice(2)) >= 10) found.set(version, program);
  }
  return [...found].map(([version, program]) => [program, version]);
}

for (const target of new Set([ownTarget(), "universal"])) {
  describe(`the server of the ${target} VSIX`, { skip: process.env.FIRSTFAULT_PYTHON_WITH_PIP ? false : "run it through npm test" }, () => {
    let folder;

    before(() => {
      folder = mkdtempSync(path.join(os.tmpdir(), "firstfault server "));
      cpSync(path.join(ROOT, "server", "firstfault"), path.join(folder, "firstfault"), { recursive: true, filter: (file) => !file.endsWith("__pycache__") });
      cpSync(path.join(ROOT, "server", "main.py"), path.join(folder, "main.py"));
      bundle(process.env.FIRSTFAULT_PYTHON_WITH_PIP, target, path.join(folder, "bundled"));
    });

    after(() => rmSync(folder, { recursive: true, force: true }));

    for (const [program, version] of pythons()) {
      test(`diagnoses the sample on Python ${version}`, { timeout: 60_000 }, async () => {
        const report = await diagnose(program, path.join(folder, "main.py"), path.join(ROOT, "samples", "stuck-rank.log"));
        assert.equal(report.incidents[0].failure, "rank-missing-collective");
        assert.deepEqual(report.incidents[0].initiating.ranks, [5]);
      });
    }
  });
}

/** Starts a server, asks for one diagnosis and ends it; -S keeps the packages of the Python itself away. */
async function diagnose(program, main, log) {
  const server = spawn(program, ["-I", "-S", "-X", "utf8", main], { stdio: ["pipe", "pipe", "pipe"], env: { PATH: process.env.PATH, HOME: path.dirname(main) } });
  let errors = "";
  server.stderr.on("data", (data) => (errors += data));
  const connection = rpc.createProtocolConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  const ended = new Promise((_resolve, reject) => server.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${errors}`))));
  ended.catch(() => undefined);
  try {
    connection.listen();
    const rootUri = pathToFileURL(path.dirname(log)).href;
    const options = { processId: process.pid, rootUri, capabilities: {}, initializationOptions: { trusted: true } };
    await Promise.race([connection.sendRequest("initialize", options), ended]);
    await connection.sendNotification("initialized", {});
    const byPath = await Promise.race([connection.sendRequest("firstfault/diagnose", { path: log }), ended]);
    const byText = await Promise.race([connection.sendRequest("firstfault/diagnose", { text: readFileSync(log, "utf8"), title: log }), ended]);
    assert.deepEqual(byText.report.incidents, byPath.report.incidents);
    return byPath.report;
  } finally {
    connection.dispose();
    server.kill();
  }
}
