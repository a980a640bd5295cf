// A real VS Code in a browser, driven as a person would. Knows nothing of what FirstFault shows.
import { spawn, spawnSync } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const QUIET_SETTINGS = {
  "chat.disableAIFeatures": true,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  // In a browser VS Code saves by itself; on the desktop, where most people are, it does not.
  "files.autoSave": "off",
  "git.enabled": false,
  "remote.autoForwardPorts": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "terminal.integrated.defaultProfile.linux": "bash",
  "update.mode": "none",
  "update.showReleaseNotes": false,
  "window.commandCenter": false,
  "workbench.colorTheme": "Default Dark Modern",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "files.simpleDialog.enable": true,
  "workbench.reduceMotion": "on",
  "editor.cursorBlinking": "solid",
  "terminal.integrated.cursorBlinking": false,
  // The text of a terminal that is drawn on a canvas cannot be read from the page.
  "terminal.integrated.gpuAcceleration": "off",
  "terminal.integrated.initialHint": false,
  "terminal.integrated.suggest.enabled": false,
};

/** Asks nothing at the start, and takes the folder for one that nobody trusts. */
const RESTRICTED_SETTINGS = {
  "security.workspace.trust.enabled": true,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
};

/** One server with one browser page. `editor` is {node, entry} of code-server. */
export class Workbench {
  /**
   * Starts the server with an extension installed and opens `opened`: a folder, a .code-workspace file or the URI of a folder.
   * `env` is laid over this process's environment; `restricted` makes VS Code ask whether the workspace is trusted.
   */
  static async open({ editor, chromiumPath, vsix, opened, screenshots, probe, restricted = false, env = {}, settings = {} }) {
    const home = mkdtempSync(path.join(os.tmpdir(), "firstfault-editor-"));
    const workbench = new Workbench(home, screenshots);
    try {
      await workbench.#start({ editor, chromiumPath, vsix, opened, env, settings, probe, restricted });
      return workbench;
    } catch (error) {
      await workbench.close();
      throw error;
    }
  }

  constructor(home, screenshots) {
    this.home = home;
    this.screenshots = screenshots;
    this.shots = 0;
    mkdirSync(screenshots, { recursive: true });
  }

  async #start({ editor, chromiumPath, vsix, opened, env, settings, probe, restricted }) {
    const userData = path.join(this.home, "user-data");
    const extensions = path.join(this.home, "extensions");
    mkdirSync(path.join(userData, "User"), { recursive: true });
    writeFileSync(path.join(userData, "User", "settings.json"), JSON.stringify({ ...QUIET_SETTINGS, ...(restricted ? RESTRICTED_SETTINGS : {}), ...settings }, null, 2));
    const folders = ["--user-data-dir", userData, "--extensions-dir", extensions];
    const environment = { ...process.env, ...env, VSCODE_IPC_HOOK_CLI: undefined, NODE_TEST_CONTEXT: undefined };
    const installed = spawnSync(editor.node, [editor.entry, ...folders, "--install-extension", vsix], { env: environment, encoding: "utf8" });
    if (installed.status !== 0 || !/successfully installed/i.test(installed.stdout)) {
      throw new Error(`the VSIX could not be installed: ${installed.stdout}${installed.stderr}`);
    }
    this.port = await freePort();
    const args = ["--auth", "none", "--bind-addr", `127.0.0.1:${this.port}`, ...folders, "--session-socket", path.join(this.home, "socket")];
    args.push("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override");
    if (!restricted) args.push("--disable-workspace-trust");
    // Without the driver for tests, a development extension in the address is ignored.
    if (probe) args.push("--vscode-option", "enable-smoke-test-driver");
    this.log = path.join(this.home, "code-server.log");
    const log = createWriteStream(this.log);
    this.server = spawn(editor.node, [editor.entry, ...args], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    this.server.stdout.pipe(log);
    this.server.stderr.pipe(log);
    await this.#answers();
    this.browser = await chromium.launch({
      executablePath: chromiumPath,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
      ],
    });
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 } });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    this.page = await context.newPage();
    this.page.setDefaultTimeout(Number(process.env.FIRSTFAULT_PATIENCE_MS ?? 60_000));
    const development = probe ? `&payload=${encodeURIComponent(JSON.stringify([["extensionDevelopmentPath", `vscode-remote://127.0.0.1:${this.port}${probe}`]]))}` : "";
    const kind = opened.endsWith(".code-workspace") ? "workspace" : "folder";
    await this.page.goto(`http://127.0.0.1:${this.port}/?${kind}=${encodeURIComponent(opened)}${development}`);
    await this.page.locator(".monaco-workbench .explorer-folders-view .monaco-list-row").first().waitFor({ timeout: 90_000 });
  }

  async #answers() {
    const deadline = Date.now() + 60_000;
    while (Date.now() < deadline) {
      if (this.server.exitCode !== null) throw new Error(`code-server ended, see ${this.log}`);
      const answer = await fetch(`http://127.0.0.1:${this.port}/healthz`).catch(() => undefined);
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`code-server did not answer within a minute, see ${this.log}`);
  }

  async close({ keep = false } = {}) {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) {
      const ended = new Promise((resolve) => this.server.once("exit", resolve));
      this.server.kill("SIGTERM");
      const patience = setTimeout(() => this.server.kill("SIGKILL"), 5_000);
      await ended;
      clearTimeout(patience);
    }
    if (!keep) rmSync(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** Saves what a person would see now. */
  async screenshot(name) {
    const file = path.join(this.screenshots, `${String(++this.shots).padStart(2, "0")}-${name}.png`);
    await this.page.screenshot({ path: file });
    return file;
  }

  /** The document of the webview or rendered page on the screen that holds a text. */
  async rendered(containing) {
    const frame = this.page.frameLocator("iframe.webview.ready").last().frameLocator("#active-frame");
    await frame.locator("body", { hasText: containing }).waitFor();
    return frame;
  }

  /** What a person reads there. */
  async renderedText(containing) {
    return (await this.rendered(containing)).locator("body").innerText();
  }

  /** Closes every editor, so that a step starts from an empty screen. */
  async closeEditors() {
    await this.command("View: Close All Editors");
    await this.page.locator(".tabs-container .tab").first().waitFor({ state: "detached" });
  }

  /** Throws unsaved changes of the active editor away and closes every editor. */
  async revertAndCloseEditors() {
    await this.command("View: Revert and Close Editor");
    // The editor behind it takes the focus when it is shown.
    await this.page.locator(".tabs-container .tab.dirty").first().waitFor({ state: "detached" });
    await this.closeEditors();
  }

  /** Runs a command by its title through the command palette. */
  async command(title) {
    await this.#pick("F1", `>${title}`, title);
  }

  /** Opens a file of the workspace by name. */
  async openFile(name) {
    await this.#pick("Control+P", name, name);
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.page.locator(".editor-group-container.active .view-line").first().waitFor();
  }

  /** Opens a file of the workspace from the explorer, which also works where no search reaches. */
  async openFromExplorer(name) {
    await this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.page.locator(".editor-group-container.active .view-line").first().waitFor();
  }

  /** Types into a quick pick and takes the first entry, once it is the wanted one. A pick that loses the focus closes; then again. */
  async #pick(key, text, wanted) {
    const input = this.page.locator(".quick-input-widget input.input").first();
    for (let attempt = 1; ; attempt++) {
      try {
        await this.page.keyboard.press(key);
        await input.fill(text, { timeout: 5_000 });
        await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: wanted }).first().waitFor({ timeout: 10_000 });
        break;
      } catch (error) {
        if (attempt === 3) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
    await this.page.keyboard.press("Enter");
  }

  /** Opens a terminal whose shell tells VS Code where commands begin and end. */
  async openTerminal() {
    await this.command("Terminal: Create New Terminal");
    await this.page.locator(".terminal-wrapper.active .xterm-helper-textarea").waitFor({ state: "attached" });
    // The mark beside the prompt shows that shell integration is on.
    await this.page.locator(".terminal-command-decoration").first().waitFor();
  }

  /** Types a command into the active terminal. */
  async typeInTerminal(command) {
    await this.page.locator(".terminal-wrapper.active .xterm-helper-textarea").first().focus();
    await this.page.keyboard.type(command, { delay: 10 });
    await this.page.keyboard.press("Enter");
  }

  /** Moves the cursor of the active editor to a line. */
  async goToLine(line, column = 1) {
    await this.page.keyboard.press("Control+G");
    const input = this.page.locator(".quick-input-widget input.input").first();
    await input.waitFor({ state: "visible" });
    await input.fill(`:${line}:${column}`);
    await this.page.keyboard.press("Enter");
    await input.waitFor({ state: "hidden" });
  }

  /** Opens the quick fixes at the cursor and gives the one wanted. The list closes when an editor that is just opening takes the focus; then again. */
  async quickFix(wanted) {
    const action = this.page.locator(".action-widget .monaco-list-row", { hasText: wanted }).first();
    for (let attempt = 1; ; attempt++) {
      await this.page.keyboard.press("Control+.");
      try {
        await action.waitFor({ timeout: 10_000 });
        return action;
      } catch (error) {
        if (attempt === 4) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
  }

  /** Chooses an entry of the context menu of a row in the explorer. */
  async explorerMenu(row, entry) {
    await this.contextMenu(this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: row }), entry);
  }

  /** Right-clicks something and chooses an entry of the menu that opens. */
  async contextMenu(target, entry, picture) {
    for (let attempt = 1; ; attempt++) {
      try {
        await target.click({ button: "right" });
        await this.page.locator(".monaco-menu .action-item", { hasText: entry }).hover({ timeout: 5_000 });
        break;
      } catch (error) {
        // The first menu of a window may come before the extensions have put their entries in.
        if (attempt === 3) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
    // A menu takes a choice only once its entry has the focus.
    await this.page.locator(".monaco-menu .action-item.focused", { hasText: entry }).waitFor();
    if (picture) await this.screenshot(picture);
    await this.page.keyboard.press("Enter");
    await this.page.locator(".monaco-menu").waitFor({ state: "detached" });
  }

  /** Drops a file of this machine on the editor area, as a file manager would. */
  async dropOnEditorArea(file) {
    const { x, y } = await this.#middleOfEditorArea();
    const devtools = await this.page.context().newCDPSession(this.page);
    const data = { items: [], files: [file], dragOperationsMask: 1 };
    // The second time over, the drop target that the first made is there.
    for (const type of ["dragEnter", "dragOver", "dragOver", "drop"]) {
      await devtools.send("Input.dispatchDragEvent", { type, x, y, data });
      await this.page.waitForTimeout(100);
    }
    await devtools.detach();
  }

  /** Drags a row of the explorer to the editor area. */
  async dragToEditorArea(name) {
    const { x, y } = await this.#middleOfEditorArea();
    await this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).hover();
    await this.page.mouse.down();
    await this.page.mouse.move(x, y, { steps: 10 });
    await this.page.locator("#monaco-workbench-editor-drop-overlay").waitFor({ state: "attached" });
    await this.page.mouse.move(x + 1, y + 1, { steps: 2 });
    await this.page.mouse.up();
  }

  async #middleOfEditorArea() {
    const { x, y, width, height } = await this.page.locator(".editor-group-container").first().boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  }

  /** Reads or writes the clipboard as another program would. */
  async clipboard(text) {
    await this.page.locator(".explorer-viewlet .title-label, .composite.title .title-label").first().click();
    return text === undefined ? this.page.evaluate(() => navigator.clipboard.readText()) : this.page.evaluate((value) => navigator.clipboard.writeText(value), text);
  }

  /** Where the installed extension lies. */
  extensionFolder() {
    const extensions = path.join(this.home, "extensions");
    const name = readdirSync(extensions, { withFileTypes: true }).find((entry) => entry.isDirectory() && entry.name.startsWith("firstfault."));
    return path.join(extensions, name.name);
  }

  /** The text of each notification that is shown. */
  async notifications() {
    return this.page.locator(".notification-list-item-message").allInnerTexts();
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
