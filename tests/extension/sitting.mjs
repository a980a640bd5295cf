// A workspace with logs of real failures, opened in a real VS Code with the packaged extension. Knows nothing of what is asserted.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Workbench } from "./workbench.mjs";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const { FIRSTFAULT_EDITOR: editor, FIRSTFAULT_CHROMIUM: chromiumPath, FIRSTFAULT_VSIX: vsix, FIRSTFAULT_BASE_PYTHON: basePython } = process.env;
const STEP_MS = 240_000;

/**
 * Steps that share one editor. `body` gets what they share, filled in before the first one: {folder, job, workbench, page}, and `step`,
 * which declares one. `prepare` may add files to the workspace; `settings` are those of the person;
 * `probe` is the folder of one more extension; `open` names what is opened instead of the folder `job`; `restricted` is for a folder
 * that is not trusted.
 */
export function inEditor(name, { prepare, settings, env, probe, open = (job) => job, restricted }, body) {
  describe(`VS Code, ${name}`, { skip: editor ? false : "run it through npm test, which prepares the editor" }, () => {
    const sitting = {};

    before(async () => {
      const folder = mkdtempSync(path.join(os.tmpdir(), "firstfault-workspace-"));
      const job = path.join(folder, "my job");
      Object.assign(sitting, { folder, job });
      mkdirSync(job);
      for (const file of ["stuck-rank.log", "bad-row.log", "killed-rank.log", "train.sh"]) cpSync(path.join(ROOT, "samples", file), path.join(job, file));
      prepare?.(job);
      // A Python without a single package, first on PATH: what the extension brings must be enough.
      const bare = path.join(folder, "python");
      const made = spawnSync(basePython, ["-m", "venv", "--without-pip", bare], { encoding: "utf8" });
      assert.equal(made.status, 0, made.stderr);
      sitting.workbench = await Workbench.open({
        editor: JSON.parse(editor),
        chromiumPath,
        vsix,
        opened: open(job),
        settings,
        probe,
        restricted,
        env: { PATH: path.join(bare, "bin") + path.delimiter + process.env.PATH, PYTHONPATH: undefined, VIRTUAL_ENV: undefined, FIRSTFAULT_PROBE_FOLDER: job, ...env },
        screenshots: path.join(ROOT, "tests", "extension", "screenshots", name),
      });
      sitting.page = sitting.workbench.page;
    });

    after(async () => {
      await sitting.workbench?.close();
      if (sitting.folder) rmSync(sitting.folder, { recursive: true, force: true });
    });

    /** One step; what the screen showed when it failed is kept as a picture. */
    function step(title, action) {
      test(title, { timeout: STEP_MS }, async () => {
        try {
          await action();
        } catch (error) {
          await sitting.workbench?.screenshot("failed");
          // What is in the way of the next step goes.
          await sitting.page?.keyboard.press("Escape");
          throw error;
        }
      });
    }

    body(sitting, step);
  });
}

/** The first incident of a sample as the command line gives it. */
export function incidentOf(log) {
  const program = path.join(ROOT, ".venv", "bin", "firstfault");
  const { status, stdout, stderr } = spawnSync(program, ["diagnose", path.join(ROOT, "samples", log), "--format", "json"], { encoding: "utf8" });
  assert.equal(status, 1, stderr);
  return JSON.parse(stdout).incidents[0];
}
