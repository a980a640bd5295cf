// From the red line in the log to the changed launch script: three clicks, with the lightbulb and with the report; or with a preview.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { incidentOf, inEditor } from "./sitting.mjs";

const SCRIPT = `#!/bin/bash
#SBATCH --job-name=pretrain
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4

# Everything below this line is kept as it is.
module load cuda
srun torchrun --nproc-per-node 4 train.py  # two nodes
`;

const settings = { "editor.wordWrap": "on" };
const prepare = (job) => writeFileSync(path.join(job, "pretrain.sbatch"), SCRIPT);

inEditor("three-clicks", { settings, prepare }, (sitting, step) => {
  let job;
  let workbench;
  let page;

  /** Checks the script on the screen and throws its change away. */
  async function expectInserted(name) {
    await page.locator(".tab.dirty", { hasText: "pretrain.sbatch" }).waitFor();
    assert.equal(readFileSync(path.join(job, "pretrain.sbatch"), "utf8"), SCRIPT, "nothing was saved");
    await page.locator(".view-line", { hasText: "export NCCL_DEBUG=INFO" }).first().waitFor();
    await workbench.screenshot(name);
    // The report may still have the focus.
    await page.locator(".tab.dirty", { hasText: "pretrain.sbatch" }).click();
    await page.keyboard.press("Control+S");
    await page.locator(".tab.active:not(.dirty)", { hasText: "pretrain.sbatch" }).waitFor();
    const lines = readFileSync(path.join(job, "pretrain.sbatch"), "utf8").split("\n");
    const set = lines.indexOf("export NCCL_DEBUG=INFO");
    assert.ok(set > lines.findLastIndex((line) => line.startsWith("#SBATCH")), "behind the #SBATCH block");
    assert.ok(set < lines.findIndex((line) => line.startsWith("srun")), "before the launching line");
    const kept = lines.filter((line, index) => index !== set && !(line === "" && SCRIPT.split("\n")[index] !== ""));
    for (const line of SCRIPT.split("\n")) assert.ok(kept.includes(line) || line === "", line);
    writeFileSync(path.join(job, "pretrain.sbatch"), SCRIPT);
    await workbench.closeEditors();
  }

  step("with the lightbulb: the red line, the bulb, the fix", async () => {
    ({ job, workbench, page } = sitting);
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: "Rank 5" }).first().waitFor();
    await workbench.goToLine(incidentOf("stuck-rank.log").evidence[0].line, 1);
    await page.locator(".squiggly-error").first().waitFor();
    await workbench.screenshot("red-line");
    // One: the red line.
    const { x, y } = await page.locator(".squiggly-error").first().boundingBox();
    await page.mouse.click(x + 30, y + 6);
    await page.locator(".codicon-light-bulb, .codicon-lightbulb-autofix, .codicon-gutter-lightbulb, .codicon-gutter-lightbulb-auto-fix").first().waitFor();
    await workbench.screenshot("bulb");
    // Two: the bulb.
    await page.locator(".lightBulbWidget, .codicon-gutter-lightbulb, .codicon-gutter-lightbulb-auto-fix").first().click();
    const fix = page.locator(".action-widget .monaco-list-row", { hasText: /NCCL_DEBUG=INFO.*pretrain\.sbatch/ });
    await fix.first().waitFor();
    await workbench.screenshot("fixes");
    // Three: the fix.
    await fix.first().click();
    if ((await page.locator(".tab.active", { hasText: "pretrain.sbatch" }).count()) === 0) await page.locator(".tab.dirty", { hasText: "pretrain.sbatch" }).click();
    await expectInserted("changed-script");
  });

  step("with the report: the verdict, the button, the file", async () => {
    await workbench.openFile("stuck-rank.log");
    await workbench.goToLine(1);
    // One: the verdict.
    await page.locator(".codelens-decoration a", { hasText: "Show report" }).first().click();
    const report = await workbench.rendered("Evidence");
    // Two: the button.
    await report.getByRole("button", { name: "Insert NCCL_DEBUG=INFO into a launch script" }).first().click();
    // Three: which of the two scripts.
    const choice = page.locator(".quick-input-list .monaco-list-row", { hasText: "pretrain.sbatch" });
    await choice.waitFor();
    await workbench.screenshot("which-script");
    await choice.click();
    await expectInserted("changed-from-report");
  });
});

inEditor("preview", { settings: { "firstfault.previewEdits": true }, prepare }, (sitting, step) => {
  step("whoever wants to confirm sees the change before it is made, and nothing is saved", async () => {
    const { job, workbench, page } = sitting;
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: "Rank 5" }).first().waitFor();
    const { line, column } = incidentOf("stuck-rank.log").evidence[0];
    await workbench.goToLine(line, column + 1);
    await page.locator(".squiggly-error").first().waitFor();
    await (await workbench.quickFix(/NCCL_DEBUG=INFO.*pretrain\.sbatch/)).click();
    const preview = page.locator(".bulk-edit-panel");
    const file = preview.locator(".monaco-list-row", { hasText: "pretrain.sbatch" }).first();
    await file.waitFor();
    await workbench.screenshot("to-confirm");
    assert.equal(await page.locator(".tab.dirty").count(), 0, "nothing was changed yet");
    await file.locator("input.edit-checkbox, .monaco-checkbox, .monaco-custom-toggle").first().click();
    await workbench.screenshot("ticked");
    await preview.getByRole("button", { name: "Apply" }).click();
    await page.locator(".tab.dirty", { hasText: "pretrain.sbatch" }).waitFor();
    await workbench.screenshot("confirmed");
    assert.equal(readFileSync(path.join(job, "pretrain.sbatch"), "utf8"), SCRIPT, "nothing was saved");
  });
});
