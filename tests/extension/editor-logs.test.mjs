// Logs that grow, that are too large for an editor or that failed in a terminal. The steps share one editor.
import assert from "node:assert/strict";
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, statfsSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";

import { incidentOf, inEditor } from "./sitting.mjs";

const UNLUCKY = 3;
const STALLED = /can be inspected/;

/** A launcher and a scheduler whose jobs fail, and the beginnings of two logs that will grow. */
function prepare(job) {
  for (const log of ["hanging.log", "growing.log"]) writeFileSync(path.join(job, log), "");
  writeFileSync(path.join(job, "torchrun"), '#!/bin/sh\ncat "$(dirname "$0")/bad-row.log"\nexit "${1:-1}"\n', { mode: 0o755 });
  const batch = '#!/bin/sh\ncd "$(dirname "$0")"\ncp bad-row.log slurm-4711.out\necho "Submitted batch job 4711"\nexit 1\n';
  writeFileSync(path.join(job, "sbatch"), batch, { mode: 0o755 });
}

inEditor("logs", { prepare }, (sitting, step) => {
  let job;
  let workbench;
  let page;
  let lines;
  let steps;

  const watched = (text) => page.locator(".statusbar-item", { hasText: text });

  step("a job that stops making progress is watched", async () => {
    ({ job, workbench, page } = sitting);
    lines = readFileSync(path.join(job, "bad-row.log"), "utf8").split("\n");
    steps = lines.filter((line) => /step: \d+ /.test(line));
    assert.ok(steps.length > 8, "the sample shows progress");
    const log = path.join(job, "hanging.log");
    const numbers = [...new Set(steps.map((line) => /step: (\d+) /.exec(line)[1]))];
    const of = (number) => steps.filter((line) => line.includes(`step: ${number} `)).join("\n") + "\n";
    writeFileSync(log, of(numbers[0]));
    await workbench.explorerMenu("hanging.log", "Watch Log");
    await watched("hanging.log").waitFor();
    for (const number of numbers.slice(1, 4)) {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      appendFileSync(log, of(number));
    }
  });

  step("the problems of a log too large for an editor open an excerpt around the line", async () => {
    const progress = `${steps.join("\n")}\n`;
    const copies = Math.ceil((55 * 1024 * 1024) / progress.length);
    writeFileSync(path.join(job, "huge.log"), progress.repeat(copies) + readFileSync(path.join(job, "bad-row.log"), "utf8"));
    const line = copies * steps.length + incidentOf("bad-row.log").evidence[0].line;
    await workbench.explorerMenu("huge.log", "Diagnose File");
    const report = await workbench.rendered("Evidence");
    assert.match(await report.locator("body").innerText(), new RegExp(`huge\\.log:${line}\\b`));
    await workbench.command("Problems: Focus on Problems View");
    const problem = page.locator(".markers-panel .monaco-list-row", { hasText: `Rank ${UNLUCKY} raised KeyError` }).first();
    await problem.waitFor();
    await problem.dblclick();
    await page.locator(".tab.active", { hasText: "huge.log" }).waitFor();
    await page.locator(".view-line", { hasText: "KeyError: 'warranty'" }).first().waitFor();
    await page.locator(".squiggly-error").first().waitFor();
    await workbench.command("View: Hide Panel");
    await page.waitForFunction((number) => [...document.querySelectorAll(".view-line span")].some((span) => getComputedStyle(span, "::before").content.includes(number)), String(line));
    await workbench.screenshot("excerpt");
    // The report leads to the same excerpt.
    await workbench.closeEditors();
    await workbench.command("FirstFault: Show Report");
    const again = await workbench.rendered("Evidence");
    await again.locator(`[data-action="open"][data-line="${line}"]`).first().click();
    await page.locator(".view-line", { hasText: "KeyError: 'warranty'" }).first().waitFor();
    await workbench.closeEditors();
    rmSync(path.join(job, "huge.log"));
  });

  step("a log of 2 GB is read by path with progress, and can be cancelled", async () => {
    const gigabytes = 2;
    const { bavail, bsize } = statfsSync(job);
    assert.ok(bavail * bsize > (gigabytes + 1) * 2 ** 30, "this test needs 3 GB of disk");
    const log = path.join(job, "vast.log");
    const progress = `${steps.join("\n")}\n`;
    const part = Buffer.from(progress.repeat(Math.ceil(2 ** 26 / progress.length)));
    const copies = (gigabytes * 2 ** 30) / 2 ** 26;
    const file = openSync(log, "w");
    for (let i = 0; i < copies; i++) writeSync(file, part);
    writeSync(file, readFileSync(path.join(job, "bad-row.log")));
    closeSync(file);
    const toast = page.locator(".notification-list-item", { hasText: "FirstFault reads vast.log" });
    await workbench.explorerMenu("vast.log", "Diagnose File");
    await toast.waitFor();
    await workbench.screenshot("vast-progress");
    await toast.getByRole("button", { name: "Cancel" }).click();
    await toast.waitFor({ state: "detached" });
    assert.equal(await page.locator(".tab", { hasText: "vast.log" }).count(), 0);
    await workbench.explorerMenu("vast.log", "Diagnose File");
    const began = Date.now();
    const report = await workbench.rendered("Evidence");
    process.stdout.write(`the report of 2 GB showed after ${Date.now() - began} ms\n`);
    const line = copies * (part.toString("latin1").split("\n").length - 1) + incidentOf("bad-row.log").evidence[0].line;
    await report.locator(`[data-action="open"][data-line="${line}"]`).first().click();
    await page.locator(".tab.active", { hasText: "vast.log" }).waitFor();
    await page.locator(".view-line", { hasText: "KeyError: 'warranty'" }).first().waitFor();
    await workbench.screenshot("vast-excerpt");
    await workbench.command("Problems: Focus on Problems View");
    await page.locator(".markers-panel .monaco-list-row", { hasText: `Rank ${UNLUCKY} raised KeyError` }).first().waitFor();
    await workbench.command("View: Hide Panel");
    await workbench.closeEditors();
    rmSync(log);
  });

  step("a growing log shows its cause soon after it was written", async () => {
    const log = path.join(job, "growing.log");
    const failure = lines.findIndex((line) => line.includes("Traceback"));
    writeFileSync(log, `${lines.slice(0, failure).join("\n")}\n`);
    await workbench.explorerMenu("growing.log", "Watch Log");
    await watched("+1").waitFor();
    appendFileSync(log, lines.slice(failure).join("\n"));
    const began = Date.now();
    await watched("growing.log: 1 cause").waitFor();
    assert.ok(Date.now() - began < 10_000, `the cause showed after ${Date.now() - began} ms`);
    process.stdout.write(`the cause of the growing log showed after ${Date.now() - began} ms\n`);
    await workbench.command("Problems: Focus on Problems View");
    await page.locator(".markers-panel .monaco-list-row", { hasText: `Rank ${UNLUCKY} raised KeyError` }).first().waitFor();
    await workbench.screenshot("growing");
    await workbench.command("View: Hide Panel");
  });

  step("a log that is gone is waited for, and watching ends when asked", async () => {
    rmSync(path.join(job, "growing.log"));
    await watched("waiting for growing.log").waitFor();
    await workbench.command("FirstFault: Watched Logs…");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "waiting for growing.log" }).click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Stop Watching" }).click();
    await watched("growing.log").waitFor({ state: "detached" });
    await watched("hanging.log").waitFor();
  });

  step("a training command that fails in a terminal is offered once, with its verdict", async () => {
    await workbench.openTerminal();
    await workbench.typeInTerminal("./torchrun");
    const toast = page.locator(".notification-list-item", { hasText: `Rank ${UNLUCKY} raised KeyError` });
    await toast.waitFor();
    await workbench.screenshot("terminal-offer");
    assert.equal(await toast.count(), 1);
    await toast.getByRole("button", { name: "Show" }).click();
    assert.match(await workbench.renderedText("Evidence"), new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    await page.locator(".tab", { hasText: "FirstFault · terminal: ./torchrun" }).waitFor();
    await workbench.screenshot("terminal-report");
    await workbench.closeEditors();
  });

  step("of a batch job that failed, the log that it wrote is offered", async () => {
    await workbench.typeInTerminal("./sbatch --wait train.sh");
    const toast = page.locator(".notification-list-item", { hasText: `Rank ${UNLUCKY} raised KeyError` });
    await toast.getByRole("button", { name: "Show" }).click();
    await page.locator(".tab", { hasText: "FirstFault · slurm-4711.out" }).waitFor();
    assert.match(await workbench.renderedText("Evidence"), /slurm-4711\.out:\d+/);
    await workbench.closeEditors();
  });

  step("other commands, and training that ends well, are left alone", async () => {
    await workbench.typeInTerminal("cat bad-row.log; false");
    await workbench.typeInTerminal("./torchrun 0");
    await workbench.typeInTerminal("echo the end of it");
    await page.waitForFunction(() => /the end of it\s[\s\S]*the end of it/.test(document.querySelector(".xterm-rows")?.innerText ?? ""));
    // An offer would have come by now: the one above took less.
    await page.waitForTimeout(3_000);
    assert.deepEqual((await workbench.notifications()).filter((text) => !STALLED.test(text)), []);
    await workbench.command("Terminal: Kill All Terminals");
  });

  step("a stall is told once, with commands to copy, while the job can still be inspected", async () => {
    await watched("hanging.log: no ").waitFor({ timeout: 150_000 });
    // Where it can be found however long ago it was told.
    await workbench.command("Notifications: Show Notifications");
    const toast = page.locator(".notification-list-item", { hasText: STALLED });
    await toast.first().waitFor();
    await workbench.screenshot("stall");
    assert.equal(await toast.count(), 1);
    await toast.getByRole("button", { name: "Copy a Command" }).click();
    const command = page.locator(".quick-input-list .monaco-list-row").first();
    await command.waitFor();
    await workbench.screenshot("stall-commands");
    await command.click();
    await page.locator(".statusbar", { hasText: "Copied:" }).waitFor();
    assert.notEqual((await workbench.clipboard()).trim(), "");
  });
});

inEditor("at-once", { prepare, settings: { "firstfault.terminal.offer": "on" } }, (sitting, step) => {
  step("whoever wants it so gets the report of a failed command without being asked", async () => {
    const { workbench, page } = sitting;
    // A command this short would be over before an extension that the terminal wakes listens.
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration", { hasText: "Rank" }).first().waitFor();
    await workbench.openTerminal();
    await workbench.typeInTerminal("./torchrun");
    await page.locator(".tab", { hasText: "FirstFault · terminal: ./torchrun" }).waitFor();
    assert.match(await workbench.renderedText("Evidence"), new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    assert.deepEqual(await workbench.notifications(), []);
  });
});
