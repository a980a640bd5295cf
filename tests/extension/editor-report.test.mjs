// The report view in VS Code: what its buttons do, and whether it can be read in every theme. The steps share one editor.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { incidentOf, inEditor, ROOT } from "./sitting.mjs";

const STUCK = 5;
const UNLUCKY = 3;
const THEMES = { light: "Light Modern", dark: "Dark Modern", "high-contrast": "Default High Contrast", "high-contrast-light": "Default High Contrast Light" };

inEditor("report", {}, (sitting, step) => {
  let job;
  let workbench;
  let page;

  step("the verdict above a log opens the report view beside it", async () => {
    ({ job, workbench, page } = sitting);
    await workbench.openFile("stuck-rank.log");
    await page.locator(".codelens-decoration a", { hasText: `Rank ${STUCK}` }).first().click();
    const report = await workbench.rendered("Evidence");
    assert.match(await report.locator("body").innerText(), /rank-missing-collective/);
    await page.locator(".tab", { hasText: "FirstFault · stuck-rank.log" }).waitFor();
    await workbench.screenshot("report");
  });

  step("the report loads nothing, and its policy allows only what bears the nonce of this rendering", async () => {
    const report = await workbench.rendered("Evidence");
    const policy = () => report.locator("meta[http-equiv='Content-Security-Policy']").getAttribute("content");
    const first = await policy();
    assert.match(first, /^default-src 'none'; style-src 'nonce-[\w-]{24}'; script-src 'nonce-[\w-]{24}'; base-uri 'none'; form-action 'none'$/);
    assert.equal(await report.locator("[src], link[href]").count(), 0);
    await page.locator(".tab", { hasText: "stuck-rank.log" }).first().click();
    await workbench.command("FirstFault: Show Report");
    const nonce = /nonce-([\w-]+)/.exec(first)[1];
    await report.locator(`meta[http-equiv='Content-Security-Policy']:not([content*="${nonce}"])`).waitFor({ state: "attached" });
  });

  step("an evidence place moves the cursor to that line of the log", async () => {
    const { file, line } = incidentOf("stuck-rank.log").evidence[0];
    const report = await workbench.rendered("Evidence");
    await report.locator(`[data-action="open"][data-line="${line}"]`, { hasText: path.basename(file) }).first().click();
    await page.locator(".statusbar", { hasText: new RegExp(`Ln ${line},`) }).waitFor();
    await page.locator(".tab.active", { hasText: "stuck-rank.log" }).first().waitFor();
    await workbench.screenshot("evidence");
  });

  step("Copy as Markdown and Copy redacted put the report on the clipboard, the second without hosts", async () => {
    const report = await workbench.rendered("Evidence");
    await report.getByRole("button", { name: "Copy as Markdown" }).click();
    await report.getByRole("button", { name: "Copied" }).first().waitFor();
    await page.locator(".statusbar", { hasText: "Copied:" }).waitFor();
    const markdown = await workbench.clipboard();
    assert.match(markdown, new RegExp(`Rank ${STUCK}`));
    await report.getByRole("button", { name: "Copy redacted" }).click();
    await report.getByRole("button", { name: "Copied" }).first().waitFor();
    await page.waitForFunction(async (before) => (await navigator.clipboard.readText()) !== before, markdown);
    const redacted = await workbench.clipboard();
    assert.match(redacted, new RegExp(`Rank ${STUCK}`));
    assert.match(markdown, /node01/);
    assert.doesNotMatch(redacted, /node01/);
    assert.match(redacted, /host-1/);
  });

  step("Run in Terminal types the command and runs nothing", async () => {
    const report = await workbench.rendered("Evidence");
    const button = report.locator('[data-action="run"]').first();
    const command = await button.getAttribute("data-text");
    await button.click();
    const toast = page.locator(".notification-list-item", { hasText: "stands in the terminal" });
    await toast.waitFor();
    const typed = (text) => text.replaceAll(/\s/g, "");
    await page.waitForFunction((wanted) => (document.querySelector(".terminal-wrapper.active .xterm-rows")?.textContent ?? "").replaceAll(/\s/g, "").includes(wanted), typed(command).slice(0, 60));
    await workbench.screenshot("terminal-typed");
    // Shell integration marks a command that ran; none has.
    assert.equal(await page.locator(".terminal-command-decoration.codicon-terminal-decoration-error, .terminal-command-decoration.codicon-terminal-decoration-success").count(), 0);
    await workbench.command("Notifications: Clear All Notifications");
    await workbench.command("Terminal: Kill All Terminals");
  });

  step("a failure named in the report opens its page", async () => {
    await workbench.closeEditors();
    await workbench.explorerMenu("bad-row.log", "Diagnose File");
    const report = await workbench.rendered("Evidence");
    await report.locator("summary", { hasText: "followed from the first fault" }).click();
    const link = report.locator('[data-action="explain"]').first();
    const title = (await link.getAttribute("title")) ?? "";
    assert.notEqual(title, "");
    await link.click();
    await page.locator(".tab", { hasText: title.slice(0, 12) }).first().waitFor();
    await workbench.screenshot("explained");
    await workbench.closeEditors();
  });

  for (const [name, theme] of Object.entries(THEMES)) {
    step(`the report can be read in ${theme}`, async () => {
      mkdirSync(path.join(job, ".vscode"), { recursive: true });
      writeFileSync(path.join(job, ".vscode", "settings.json"), JSON.stringify({ "workbench.colorTheme": theme }));
      await workbench.explorerMenu("stuck-rank.log", "Diagnose File");
      const report = await workbench.rendered("Evidence");
      const kind = { light: "vscode-light", dark: "vscode-dark", "high-contrast": "vscode-high-contrast", "high-contrast-light": "vscode-high-contrast-light" }[name];
      await report.locator(`body.${kind}`).waitFor();
      await workbench.screenshot(`theme-${name}`);
      assert.deepEqual(await report.locator("body").evaluate(unreadable), []);
      await report.locator("h3, h4").filter({ hasText: "Fix" }).first().scrollIntoViewIfNeeded();
      await workbench.screenshot(`theme-${name}-fix`);
      await workbench.closeEditors();
    });
  }

  step("the lines of a report on an unsaved document lead into that document", async () => {
    rmSync(path.join(job, ".vscode"), { recursive: true });
    await workbench.clipboard(readFileSync(path.join(job, "bad-row.log"), "utf8"));
    await workbench.command("Create: New File");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Text File" }).first().click();
    await page.locator(".tab.active", { hasText: "Untitled-1" }).waitFor();
    await page.locator(".editor-group-container.active .monaco-editor").first().click();
    await page.keyboard.press("Control+V");
    await page.locator(".tab.active.dirty", { hasText: "Untitled-1" }).waitFor();
    await workbench.command("FirstFault: Diagnose Selection");
    const report = await workbench.rendered("Evidence");
    const { line } = incidentOf("bad-row.log").evidence[0];
    await report.locator(`[data-action="open"][data-line="${line}"]`).first().click();
    await page.locator(".statusbar", { hasText: new RegExp(`Ln ${line},`) }).waitFor();
    await workbench.screenshot("untitled");
    await workbench.revertAndCloseEditors();
  });

  step("the clipboard is diagnosed", async () => {
    await workbench.clipboard(readFileSync(path.join(job, "bad-row.log"), "utf8"));
    await workbench.command("FirstFault: Diagnose Clipboard");
    assert.match(await workbench.renderedText("Evidence"), new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    await page.locator(".tab", { hasText: "FirstFault · clipboard" }).waitFor();
    await workbench.closeEditors();
  });

  step("a folder is diagnosed as one job", async () => {
    const ranks = path.join(job, "per-rank");
    cpSync(path.join(ROOT, "samples", "bad-row.log"), path.join(ranks, "job.log"));
    await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "per-rank" }).waitFor();
    await workbench.explorerMenu("per-rank", "Diagnose Folder");
    assert.match(await workbench.renderedText("Evidence"), new RegExp(`Rank ${UNLUCKY} .*KeyError`));
    await page.locator(".tab", { hasText: "FirstFault · per-rank" }).waitFor();
    await workbench.screenshot("folder");
    await workbench.closeEditors();
    rmSync(ranks, { recursive: true });
  });

  step("several files that are selected are diagnosed as one job, and the problems of one that is deleted go", async () => {
    const lines = readFileSync(path.join(job, "bad-row.log"), "utf8").split("\n");
    const of = (rank) => lines.filter((line) => line.startsWith(`[rank${rank}]:`)).join("\n");
    const whole = incidentOf("bad-row.log");
    const [victim] = whole.collateral.flatMap(({ ranks }) => ranks ?? []).filter((rank) => rank !== UNLUCKY);
    for (const rank of [UNLUCKY, victim]) writeFileSync(path.join(job, `part${rank}.log`), `${of(rank)}\n`);
    const row = (rank) => page.locator(".explorer-folders-view .monaco-list-row", { hasText: `part${rank}.log` });
    await row(victim).waitFor();
    await row(UNLUCKY).click();
    await row(victim).click({ modifiers: ["Control"] });
    await workbench.contextMenu(row(victim), "Diagnose File");
    assert.match(await workbench.renderedText("Evidence"), new RegExp(`Rank ${UNLUCKY} .*KeyError[\\s\\S]*1 other rank`));
    await page.locator(".tab", { hasText: "FirstFault · 2 logs" }).waitFor();
    await workbench.screenshot("several-files");
    await workbench.closeEditors();
    await workbench.command("Problems: Focus on Problems View");
    const problem = page.locator(".markers-panel .monaco-list-row", { hasText: `part${UNLUCKY}.log` });
    await problem.first().waitFor();
    for (const rank of [UNLUCKY, victim]) rmSync(path.join(job, `part${rank}.log`));
    await problem.first().waitFor({ state: "detached" });
    await workbench.command("View: Hide Panel");
  });

  step("a file from elsewhere that is dropped on the editor area is diagnosed like any open log", async () => {
    const elsewhere = path.join(sitting.folder, "from-a-colleague.log");
    cpSync(path.join(job, "bad-row.log"), elsewhere);
    await workbench.dropOnEditorArea(elsewhere);
    await page.locator(".tab.active", { hasText: "from-a-colleague.log" }).waitFor();
    await page.locator(".codelens-decoration", { hasText: `Rank ${UNLUCKY}` }).first().waitFor();
    await workbench.screenshot("dropped");
    await workbench.closeEditors();
  });

  step("a log that is dragged from the explorer to the editor area too", async () => {
    await workbench.dragToEditorArea("bad-row.log");
    await page.locator(".tab.active", { hasText: "bad-row.log" }).waitFor();
    await page.locator(".codelens-decoration", { hasText: `Rank ${UNLUCKY}` }).first().waitFor();
    await workbench.closeEditors();
  });

  step("an output channel is diagnosed like any text", async () => {
    await workbench.command("FirstFault: Show Logs");
    const output = page.locator(".output-view .view-lines").first();
    await output.locator(".view-line", { hasText: "Starting the server" }).first().waitFor();
    await output.click();
    await workbench.command("FirstFault: Diagnose Selection");
    assert.match(await workbench.renderedText("No failure"), /No failure/);
    await workbench.screenshot("output-channel");
    await workbench.command("View: Hide Panel");
    await workbench.closeEditors();
  });
});

/** Texts that are cut off, or too faint to read against their background. Runs in the page. */
function unreadable(body) {
  const found = [];
  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const backgroundOf = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = channels(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  for (const element of body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
    const box = element.getBoundingClientRect();
    if (!own || box.width < 2 || element.closest("script, style, .unseen") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const text = element.textContent.trim().slice(0, 60);
    if (box.right > document.documentElement.clientWidth + 1 && !element.closest(".scroll")) found.push(`cut off: ${text}`);
    if (style.overflowX === "hidden" && element.scrollWidth > element.clientWidth + 1) found.push(`clipped: ${text}`);
    const [a, b] = [luminance(channels(style.color)), luminance(backgroundOf(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(1)}: ${text}`);
  }
  return found;
}
