// Follows growing logs: asks the server to watch files, shows how they are doing and tells of a stall once. Knows no failure.
import path from "node:path";
import * as vscode from "vscode";

import { activeResource } from "./active-resource";
import { copyText } from "./navigation";
import { WatchRequest, type WatchedParams } from "./protocol";
import type { Session } from "./session";
import type { Trouble } from "./trouble";

const ICONS = { reading: "$(eye)", waiting: "$(watch)", stalled: "$(warning)" };

interface CommandItem extends vscode.QuickPickItem {
  command?: string;
}

/** The watched files of a window. They are watched again when the server starts anew. */
export class Watching implements vscode.Disposable {
  private readonly states = new Map<string, WatchedParams | undefined>();
  private readonly item = vscode.window.createStatusBarItem("firstfault.watching", vscode.StatusBarAlignment.Left);
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(
    private readonly session: Session,
    private readonly trouble: Trouble,
  ) {
    this.item.name = vscode.l10n.t("FirstFault: watched logs");
    this.item.command = "firstfault.watchedLogs";
    this.subscriptions = [
      this.item,
      session.onWatched((state) => {
        this.update(state);
      }),
      session.onDidStart(() => {
        for (const file of this.states.keys()) {
          this.ask(file, true).catch((error: unknown) => {
            this.trouble.note(error);
          });
        }
      }),
      vscode.commands.registerCommand("firstfault.watchLog", (uri?: vscode.Uri) => trouble.guard(() => this.toggle(uri))),
      vscode.commands.registerCommand("firstfault.watchedLogs", () => trouble.guard(() => this.choose())),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** Begins or ends watching a file. */
  private async toggle(uri?: vscode.Uri): Promise<void> {
    const file = uri ?? activeResource() ?? (await vscode.window.showOpenDialog({ openLabel: vscode.l10n.t("Watch") }))?.[0];
    if (file === undefined) return;
    if (file.scheme !== "file") {
      void vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: only a file on disk can be watched."));
      return;
    }
    if (this.states.has(file.fsPath)) await this.end(file.fsPath);
    else await this.begin(file.fsPath);
  }

  private async begin(file: string): Promise<void> {
    // Word of the file may come before the answer.
    this.states.set(file, undefined);
    try {
      await this.ask(file, true);
    } catch (error) {
      this.states.delete(file);
      throw error;
    } finally {
      this.show();
    }
  }

  private async end(file: string): Promise<void> {
    this.states.delete(file);
    this.show();
    await this.ask(file, false);
  }

  private async ask(file: string, on: boolean): Promise<void> {
    await this.session.request(WatchRequest, { path: file, on });
  }

  private update(state: WatchedParams): void {
    const file = vscode.Uri.parse(state.uri).fsPath;
    // Word of a file may still come when it is no longer watched.
    if (!this.states.has(file)) return;
    const before = this.states.get(file)?.state;
    this.states.set(file, state);
    this.show();
    if (state.state === "stalled" && before !== "stalled" && vscode.workspace.getConfiguration("firstfault", vscode.Uri.file(file)).get<boolean>("watch.notifyStall", true)) {
      void this.trouble.guard(() => this.tellStall(file, state));
    }
  }

  /** The file that needs a look most: one that stalled, else one with a cause, else the first. */
  private show(): void {
    const files = [...this.states];
    const shown = files.find(([, state]) => state?.state === "stalled") ?? files.find(([, state]) => (state?.incidents ?? 0) > 0) ?? files[0];
    if (shown === undefined) {
      this.item.hide();
      return;
    }
    const [file, state] = shown;
    const more = files.length > 1 ? ` +${files.length - 1}` : "";
    this.item.text = `${ICONS[state?.state ?? "waiting"]} ${named(file, state?.message ?? vscode.l10n.t("watching"))}${more}`;
    this.item.tooltip = files.map(([each, known]) => [each, known?.message, known?.summary].filter(Boolean).join("\n")).join("\n\n");
    this.item.backgroundColor = state?.state === "stalled" ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
  }

  private async choose(): Promise<void> {
    const files = [...this.states].map(([file, state]) => ({ label: path.basename(file), description: state?.message ?? "", detail: file, file }));
    const chosen =
      files.length > 1 ? await vscode.window.showQuickPick(files, { title: vscode.l10n.t("Watched Logs"), matchOnDetail: true }) : files[0];
    if (chosen === undefined) return;
    const state = this.states.get(chosen.file);
    const report = { label: `$(output) ${vscode.l10n.t("Show Report")}` };
    const stop = { label: `$(eye-closed) ${vscode.l10n.t("Stop Watching")}` };
    const commands = (state?.commands ?? []).map(({ title, command }) => ({ label: `$(copy) ${command}`, detail: title, command }));
    const items: CommandItem[] = [report, stop, ...commands];
    const action = await vscode.window.showQuickPick(items, { title: `${chosen.label}: ${chosen.description}` });
    if (action === report) await vscode.commands.executeCommand("firstfault.diagnoseFile", vscode.Uri.file(chosen.file));
    else if (action === stop) await this.end(chosen.file);
    else if (action?.command !== undefined) await copyText(action.command);
  }

  /** Tells that a job stands still, with the commands that inspect it while it can be inspected. */
  private async tellStall(file: string, state: WatchedParams): Promise<void> {
    const commands = vscode.l10n.t("Copy a Command…");
    const stop = vscode.l10n.t("Stop Watching");
    const message = vscode.l10n.t("FirstFault: {0}. The job can be inspected as long as it hangs.", named(file, state.message));
    const choice = await vscode.window.showWarningMessage(message, ...(state.commands.length > 0 ? [commands] : []), stop);
    if (choice === stop) await this.end(file);
    if (choice !== commands) return;
    const items = state.commands.map(({ title, command }) => ({ label: command, detail: title }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Copy a command that inspects the job"), matchOnDetail: true });
    if (chosen !== undefined) await copyText(chosen.label);
  }
}

/** What became of a file, with its name unless the message has it already. */
function named(file: string, message: string): string {
  const name = path.basename(file);
  return message.includes(name) ? message : `${name}: ${message}`;
}
