// What a person does in VS Code with the packaged extension, in the order of a first day. The steps share one editor.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { incidentOf, inEditor } from "./sitting.mjs";

/** The rank that the laboratory made stop in stuck-rank.log, and the one that met the bad row in bad-row.log. */
const STUCK = 5;
const UNLUCKY = 3;

inEditor("first-day", {}, (sitting, step) => {
  let job;
  let workbench;
  let page;
  let stuck;
  let raised;

  step("the extension is installed and nothing is said about it", async () => {
    ({ job, workbench, page } = sitting);
    writeFileSync(path.join(job, "rerun.sh"), "cat bad-row.log\nexit 1\n");
    // What the command line says; the editor must show the same lines.
    stuck = incidentOf("stuck-rank.log");
    raised = incidentOf("bad-row.log");
    assert.deepEqual(await workbench.notifications(), []);
  });

  step("an open log shows the initiating rank as a problem", async () => {
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: `Rank ${STUCK}` }).first().waitFor();
    await workbench.screenshot("open-log");
    await workbench.command("Problems: Focus on Problems View");
    const rows = page.locator(".markers-panel .monaco-list-row");
    await rows.filter({ hasText: `Rank ${STUCK}` }).first().waitFor();
    const text = (await rows.allInnerTexts()).join("\n");
    assert.match(text, /firstfault\s+rank-missing-collective/);
    await workbench.screenshot("problems");
  });

  step("the code of a problem opens the page of its failure, rendered", async () => {
    await page.locator(".markers-panel .monaco-list-row", { hasText: `Rank ${STUCK}` }).first().locator("a", { hasText: "rank-missing-collective" }).click();
    const text = await workbench.renderedText("Why it happens");
    await workbench.screenshot("code-of-a-problem");
    assert.doesNotMatch(text, /signature|^---/m);
    await workbench.command("View: Hide Panel");
    await workbench.closeEditors();
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: `Rank ${STUCK}` }).first().waitFor();
  });

  step("a code lens above the first line gives the verdict", async () => {
    assert.match(await page.locator(".codelens-decoration", { hasText: `Rank ${STUCK}` }).first().innerText(), /Show report/);
  });

  step("the language status counts causes and ranks", async () => {
    await page.locator(".statusbar-item[id='status.languageStatus']").hover();
    await page.locator(".monaco-hover:not(.hidden), .workbench-hover", { hasText: /1 cause · 8 ranks/ }).first().waitFor();
    await workbench.screenshot("status");
    await page.keyboard.press("Escape");
    await page.locator(".view-line").first().click();
  });

  step("Go to first fault moves the cursor to the initiating line, and hovering over it explains it", async () => {
    await page.locator(".codelens-decoration a", { hasText: "Go to first fault" }).click();
    await page.waitForFunction(() => !/Ln 1,/.test(document.querySelector(".statusbar")?.textContent ?? "Ln 1,"));
    await page.locator(".squiggly-error").first().waitFor();
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Control+I");
    const hover = page.locator(".monaco-hover:not(.hidden) .hover-row", { hasText: "rank-missing-collective" });
    await hover.first().waitFor();
    await workbench.screenshot("hover");
    await page.locator(".monaco-hover:not(.hidden) a", { hasText: "Open the page" }).first().click();
    await workbench.rendered("Why it happens");
    await workbench.screenshot("page-of-a-hover");
    await workbench.closeEditors();
    await workbench.openFile("stuck-rank.log");
    await page.locator(".squiggly-error").first().waitFor();
  });

  step("collateral lines are faded and say whose fault they are", async () => {
    const { line } = stuck.collateral[0];
    await workbench.goToLine(line, 30);
    await page.locator(".view-line .squiggly-inline-unnecessary").first().waitFor();
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Control+I");
    await page.locator(".monaco-hover:not(.hidden) .hover-row", { hasText: `Collateral of rank ${STUCK}` }).first().waitFor();
    await workbench.screenshot("collateral");
    await page.keyboard.press("Escape");
    await page.locator(".monaco-hover:not(.hidden)").waitFor({ state: "detached" }).catch(() => undefined);
    await workbench.goToLine(stuck.evidence[0].line, stuck.evidence[0].column + 1);
    await page.locator(".squiggly-error").first().waitFor();
  });

  step("the quick fix puts NCCL_DEBUG=INFO into the launch script, and saves nothing", async () => {
    const script = path.join(job, "train.sh");
    const before = readFileSync(script, "utf8");
    const action = await workbench.quickFix(/NCCL_DEBUG=INFO.*train\.sh/);
    await workbench.screenshot("quick-fixes");
    await action.click();
    // The changed file shows up as a tab that is not saved.
    await page.locator(".tab.dirty", { hasText: "train.sh" }).click();
    const inserted = page.locator(".view-line", { hasText: "export NCCL_DEBUG=INFO" });
    await inserted.first().waitFor();
    await workbench.screenshot("quick-fix-applied");
    assert.equal(await inserted.count(), 1);
    assert.equal(readFileSync(script, "utf8"), before);
    await page.keyboard.press("Control+S");
    await page.locator(".tab.active:not(.dirty)", { hasText: "train.sh" }).waitFor();
    const lines = readFileSync(script, "utf8").split("\n");
    const [set, launch] = [lines.indexOf("export NCCL_DEBUG=INFO"), lines.findIndex((line) => line.startsWith("torchrun"))];
    assert.ok(set >= 0 && set < launch, `line ${set} must come before the launching line ${launch}`);
    await workbench.closeEditors();
  });

  step("the verdict opens the report beside the log", async () => {
    await workbench.openFile("bad-row.log");
    await page.locator(".codelens-decoration a", { hasText: `Rank ${UNLUCKY}` }).first().click();
    const report = await workbench.renderedText("Evidence");
    assert.match(report, /python-exception/);
    await page.locator(".tab", { hasText: "bad-row.log" }).first().click();
    await workbench.goToLine(raised.evidence[0].line);
    await page.locator(".squiggly-error").first().waitFor();
    await page.locator(".view-line .squiggly-inline-unnecessary").first().waitFor();
    // The picture of the README is this one.
    await workbench.command("View: Toggle Primary Side Bar Visibility");
    await workbench.screenshot("overview");
    await workbench.command("View: Toggle Primary Side Bar Visibility");
    await workbench.closeEditors();
  });

  step("a log too large to be sent shows its problems all the same", async () => {
    const progress = readFileSync(path.join(job, "bad-row.log"), "utf8").split("\n").filter((line) => line.includes("step: 5 "));
    const chunk = `${progress.join("\n")}\n`;
    writeFileSync(path.join(job, "large.log"), chunk.repeat(Math.ceil(6_000_000 / chunk.length)) + readFileSync(path.join(job, "bad-row.log"), "utf8"));
    await workbench.openFile("large.log");
    await workbench.command("Problems: Focus on Problems View");
    await page.locator(".markers-panel .monaco-list-row", { hasText: `Rank ${UNLUCKY} raised KeyError` }).first().waitFor();
    await workbench.screenshot("large-log");
    await workbench.command("View: Hide Panel");
    await workbench.closeEditors();
    rmSync(path.join(job, "large.log"));
  });

  step("a selected traceback is diagnosed beside the log", async () => {
    const lines = readFileSync(path.join(job, "bad-row.log"), "utf8").split("\n");
    const first = lines.findIndex((line) => line.includes("Traceback (most recent call last)"));
    await workbench.openFile("bad-row.log");
    await workbench.goToLine(first + 1);
    for (let i = 0; i < 30; i++) await page.keyboard.press("Shift+ArrowDown");
    await workbench.command("FirstFault: Diagnose Selection");
    const report = await workbench.renderedText("Evidence");
    await workbench.screenshot("selection-report");
    assert.match(report, new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    assert.ok(report.includes(`bad-row.log:${raised.evidence[0].line}`), "the report names the line of the document");
    await workbench.closeEditors();
  });

  step("a file is diagnosed from the explorer's context menu", async () => {
    await workbench.explorerMenu("killed-rank.log", "Diagnose File");
    const report = await workbench.renderedText("Evidence");
    await workbench.screenshot("file-report");
    assert.match(report, /killed-rank\.log/);
    await workbench.closeEditors();
  });

  step("the output of a command that failed in the terminal is diagnosed, and the clipboard stays as it was", async () => {
    await workbench.clipboard("kept");
    await workbench.openTerminal();
    await workbench.typeInTerminal("bash rerun.sh");
    // The command has ended when a new prompt stands behind its last line.
    await page.waitForFunction(() => {
      const text = document.querySelector(".xterm-rows")?.textContent ?? "";
      return text.includes("Root Cause") && text.lastIndexOf("my job") > text.lastIndexOf("=====");
    });
    await workbench.command("FirstFault: Diagnose Last Terminal Command");
    const report = await workbench.renderedText("Evidence");
    await workbench.screenshot("terminal-report");
    assert.match(report, new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    assert.equal(await workbench.clipboard(), "kept");
    await workbench.closeEditors();
  });

  step("selected text of the terminal is diagnosed", async () => {
    const screen = page.locator(".terminal-wrapper.active .xterm-screen").first();
    await screen.click();
    await workbench.command("Terminal: Select All");
    await workbench.contextMenu(screen, "Diagnose Terminal Selection", "terminal-menu");
    const report = await workbench.renderedText("Evidence");
    assert.match(report, new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    assert.equal(await workbench.clipboard(), "kept");
    await workbench.command("Terminal: Kill All Terminals");
    await workbench.closeEditors();
  });

  step("Explain Failure offers every failure and shows its page", async () => {
    await workbench.command("FirstFault: Explain Failure…");
    const rows = page.locator(".quick-input-list .monaco-list-row");
    await rows.first().waitFor();
    await page.locator(".quick-input-widget input.input").first().fill("stuck");
    await workbench.screenshot("explain-list");
    await rows.filter({ hasText: "rank-missing-collective" }).first().click();
    const text = await workbench.renderedText("Why it happens");
    await workbench.screenshot("explain-page");
    assert.doesNotMatch(text, /signature/);
    await workbench.closeEditors();
  });

  step("a server that is killed comes back by itself, without a message", async () => {
    const main = path.join("server", "main.py");
    const pids = spawnSync("pgrep", ["-f", `${workbench.home}.*${main}`], { encoding: "utf8" }).stdout.trim().split("\n").filter(Boolean);
    assert.ok(pids.length > 0, "the server runs");
    for (const pid of pids) process.kill(Number(pid), "SIGKILL");
    await workbench.openFile("stuck-rank.log");
    await page.locator(".squiggly-error").first().waitFor();
    assert.deepEqual(await workbench.notifications(), []);
  });

  step("a server that cannot start says so in one message, and comes back when it can", async () => {
    const main = path.join(workbench.extensionFolder(), "server", "main.py");
    const good = readFileSync(main, "utf8");
    writeFileSync(main, "raise SystemExit(3)\n");
    await workbench.command("FirstFault: Restart Server");
    await page.locator(".notification-list-item-message", { hasText: "did not start" }).first().waitFor();
    await workbench.screenshot("broken-server");
    assert.equal((await workbench.notifications()).length, 1);
    writeFileSync(main, good);
    await workbench.command("FirstFault: Restart Server");
    await page.locator(".squiggly-error").first().waitFor();
    await workbench.command("Notifications: Clear All Notifications");
  });

  step("when no Python fits, one message lists what was tried, and the right setting heals it", async () => {
    const settings = path.join(job, ".vscode", "settings.json");
    mkdirSync(path.dirname(settings));
    writeFileSync(settings, JSON.stringify({ "firstfault.interpreter": "/no/such/python" }));
    const message = page.locator(".notification-list-item-message", { hasText: "found no Python 3.10" });
    await message.first().waitFor();
    await workbench.screenshot("no-python");
    assert.equal(await message.count(), 1);
    assert.match(await message.first().innerText(), /\/no\/such\/python .*not found/);
    writeFileSync(settings, "{}");
    await page.locator(".squiggly-error").first().waitFor();
    await workbench.command("Notifications: Clear All Notifications");
  });

  step("a path that cannot be read is told in the words of the engine", async () => {
    writeFileSync(path.join(job, "core.0"), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 1, 2, 3, 0, 0]));
    await workbench.explorerMenu("core.0", "Diagnose File");
    await page.locator(".notification-list-item-message", { hasText: "core.0" }).first().waitFor();
    await workbench.screenshot("unreadable");
  });
});
