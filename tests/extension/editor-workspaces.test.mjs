// Workspaces that are not an ordinary folder: one that nobody trusts, one of several folders, one that lies on no disk.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { incidentOf, inEditor, ROOT } from "./sitting.mjs";

const STUCK = 5;
const UNLUCKY = 3;
const probe = path.join(path.dirname(fileURLToPath(import.meta.url)), "probe");

/** A page that only the folder has, and a setting that would start a program of the folder. */
function prepareTrap(job) {
  const raised = incidentOf("bad-row.log");
  mkdirSync(path.join(job, ".vscode"));
  const trap = path.join(job, "python-of-the-folder");
  writeFileSync(trap, `#!/bin/sh\ntouch "${path.join(job, "sprung")}"\nexec python3 "$@"\n`, { mode: 0o755 });
  writeFileSync(path.join(job, ".vscode", "settings.json"), JSON.stringify({ "firstfault.interpreter": trap }));
  const made = spawnSync(path.join(ROOT, ".venv", "bin", "firstfault"), ["new", "row-lacks-a-column", "--from", `bad-row.log:${raised.evidence[0].line}`], { cwd: job, encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
}

inEditor("restricted", { prepare: prepareTrap, restricted: true }, (sitting, step) => {
  let job;
  let workbench;
  let page;

  step("a log of a folder that is not trusted is diagnosed, and nothing of the folder is run", async () => {
    ({ job, workbench, page } = sitting);
    await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: `Rank ${STUCK}` }).first().waitFor();
    await workbench.screenshot("log");
    assert.ok(!existsSync(path.join(job, "sprung")), "the interpreter of the folder was not started");
    assert.deepEqual(await workbench.notifications(), []);
    await workbench.closeEditors();
  });

  /** The failures that the Problems view names for a log, once it names one. */
  async function failuresOf(log) {
    await workbench.openFile(log);
    await page.locator(".codelens-decoration", { hasText: `Rank ${UNLUCKY}` }).first().waitFor();
    await workbench.command("Problems: Focus on Problems View");
    const rows = page.locator(".markers-panel .monaco-list-row", { hasText: "firstfault" });
    await rows.first().waitFor();
    const text = (await rows.allInnerTexts()).join("\n");
    await workbench.command("View: Hide Panel");
    return text;
  }

  step("its own pages take no part in a diagnosis", async () => {
    const failures = await failuresOf("bad-row.log");
    assert.match(failures, /python-exception/);
    assert.doesNotMatch(failures, /row-lacks-a-column/);
    await workbench.closeEditors();
  });

  step("once it is trusted, its interpreter and its pages are taken without a reload", async () => {
    await workbench.command("Workspaces: Manage Workspace Trust");
    await page.locator(".workspace-trust-editor .trust-button, .workspace-trust-buttons-row .monaco-button", { hasText: /Trust/ }).first().click();
    await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor({ state: "detached" });
    await workbench.closeEditors();
    assert.match(await failuresOf("bad-row.log"), /row-lacks-a-column/);
    await workbench.screenshot("trusted");
    assert.ok(existsSync(path.join(job, "sprung")), "the interpreter that the folder names is the server's now");
    await workbench.closeEditors();
  });
});

/** The logs in one folder, the launch script in another. */
function prepareFolders(job) {
  const scripts = path.join(path.dirname(job), "the scripts");
  mkdirSync(scripts);
  renameSync(path.join(job, "train.sh"), path.join(scripts, "launch-it.sh"));
  writeFileSync(path.join(path.dirname(job), "both.code-workspace"), JSON.stringify({ folders: [{ path: path.basename(job) }, { path: "the scripts" }] }));
}

inEditor("folders", { prepare: prepareFolders, open: (job) => path.join(path.dirname(job), "both.code-workspace") }, (sitting, step) => {
  step("in a workspace of several folders the launch script of another folder is offered and changed", async () => {
    const { job, workbench, page } = sitting;
    const script = path.join(path.dirname(job), "the scripts", "launch-it.sh");
    const before = readFileSync(script, "utf8");
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: `Rank ${STUCK}` }).first().waitFor();
    const { line, column } = incidentOf("stuck-rank.log").evidence[0];
    await workbench.goToLine(line, column + 1);
    await page.locator(".squiggly-error").first().waitFor();
    const action = await workbench.quickFix(/NCCL_DEBUG=INFO.*launch-it\.sh/);
    await workbench.screenshot("offer");
    await action.click();
    await page.locator(".tab.dirty", { hasText: "launch-it.sh" }).click();
    await page.locator(".view-line", { hasText: "export NCCL_DEBUG=INFO" }).first().waitFor();
    await workbench.screenshot("changed");
    assert.equal(readFileSync(script, "utf8"), before);
    await workbench.revertAndCloseEditors();
  });

  step("each folder is diagnosed by itself", async () => {
    const { workbench, page } = sitting;
    await workbench.explorerMenu("my job", "Diagnose Folder");
    await workbench.rendered("Evidence");
    await page.locator(".tab", { hasText: "FirstFault · my job" }).waitFor();
    await workbench.closeEditors();
  });
});

inEditor("elsewhere", { probe, open: () => "elsewhere:/" }, (sitting, step) => {
  step("a log that lies on no disk is diagnosed by its text", async () => {
    const { workbench, page } = sitting;
    await workbench.openFromExplorer("bad-row.log");
    await page.locator(".codelens-decoration", { hasText: `Rank ${UNLUCKY}` }).first().waitFor();
    const { line, column } = incidentOf("bad-row.log").evidence[0];
    await workbench.goToLine(line, column + 1);
    await page.locator(".squiggly-error").first().waitFor();
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Control+I");
    await page.locator(".monaco-hover:not(.hidden) .hover-row", { hasText: "python-exception" }).first().waitFor();
    await workbench.screenshot("log");
    await page.keyboard.press("Escape");
    await workbench.closeEditors();
  });

  step("the explorer's command reads it through the editor", async () => {
    const { workbench, page } = sitting;
    await workbench.explorerMenu("killed-rank.log", "Diagnose File");
    const report = await workbench.rendered("Evidence");
    const place = report.locator('[data-action="open"]').first();
    const line = await place.getAttribute("data-line");
    await place.click();
    await page.locator(".statusbar", { hasText: new RegExp(`Ln ${line},`) }).waitFor();
    await page.locator(".tab", { hasText: "killed-rank.log" }).first().waitFor();
    await workbench.screenshot("report");
    await workbench.closeEditors();
  });

  step("a quick fix says that it finds no launch script rather than nothing", async () => {
    const { workbench, page } = sitting;
    await workbench.openFromExplorer("stuck-rank.log");
    const { line, column } = incidentOf("stuck-rank.log").evidence[0];
    await page.locator(".codelens-decoration", { hasText: `Rank ${STUCK}` }).first().waitFor();
    await workbench.goToLine(line, column + 1);
    await page.locator(".squiggly-error").first().waitFor();
    await workbench.quickFix(/NCCL_DEBUG=INFO/);
    await workbench.screenshot("fixes");
    await page.keyboard.press("Escape");
    await workbench.closeEditors();
  });
});
