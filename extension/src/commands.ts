// The commands: each takes a text or a path to the server and shows what comes back. Knows no failure.
import path from "node:path";
import * as vscode from "vscode";
import { ErrorCodes, ResponseError } from "vscode-languageclient/node";

import { contentOf, nameOf } from "./documents";
import { copyText, goToFirstFault } from "./navigation";
import { ExplainRequest, FailuresRequest, type DiagnoseParams, type Failure } from "./protocol";
import type { ReportView } from "./report-view";
import { NotRunning, type Session } from "./session";
import * as terminal from "./terminal";

/** A diagnosis that takes longer shows its progress and can be cancelled. */
const PROGRESS_AFTER_MS = 500;

/** Everything a person can ask for; registered once, when the extension is activated. */
export class Commands {
  constructor(
    private readonly folder: string,
    private readonly session: Session,
    private readonly reports: ReportView,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  register(): vscode.Disposable[] {
    const handlers: Record<string, (...args: never[]) => unknown> = {
      "firstfault.diagnoseSelection": () => this.diagnoseSelection(),
      "firstfault.diagnoseFile": (uri?: vscode.Uri, uris?: vscode.Uri[]) => this.diagnoseFile(uri, uris),
      "firstfault.diagnoseFolder": (uri?: vscode.Uri) => this.diagnoseFolder(uri),
      "firstfault.diagnoseTerminalSelection": () => this.diagnoseTerminalSelection(),
      "firstfault.diagnoseLastTerminalCommand": () => this.diagnoseLastTerminalCommand(),
      "firstfault.diagnoseClipboard": () => this.diagnoseClipboard(),
      "firstfault.explain": (id?: string) => this.explain(id),
      "firstfault.showReport": (uri?: string) => this.showReport(uri),
      "firstfault.openSample": () => this.openSample(),
      "firstfault.goToFirstFault": goToFirstFault,
      "firstfault.copyText": copyText,
      "firstfault.restartServer": () => this.session.restart(),
      "firstfault.showLogs": () => {
        this.log.show();
      },
    };
    return Object.entries(handlers).map(([id, handler]) =>
      vscode.commands.registerCommand(id, (...args: never[]) => this.guard(() => handler(...args))),
    );
  }

  private async diagnoseSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      // A file that is too large for an editor still has a tab.
      await this.diagnoseFile();
      return;
    }
    const { document, selections } = editor;
    const chosen = selections.filter((selection) => !selection.isEmpty);
    const [first, last] = [chosen[0], chosen.at(-1)];
    if (first === undefined || last === undefined) {
      await this.diagnose(contentOf(document), nameOf(document.uri));
      return;
    }
    const lines = vscode.l10n.t("{0}, lines {1} to {2}", nameOf(document.uri), first.start.line + 1, last.end.line + 1);
    await this.diagnose({ text: textInPlace(document, chosen), title: nameOf(document.uri) }, lines);
  }

  private async diagnoseFile(uri?: vscode.Uri, uris?: vscode.Uri[]): Promise<void> {
    let files = uris !== undefined && uris.length > 0 ? uris : uri === undefined ? [] : [uri];
    if (files.length === 0) {
      const active = activeResource();
      files = active === undefined ? ((await vscode.window.showOpenDialog({ canSelectMany: true, openLabel: vscode.l10n.t("Diagnose") })) ?? []) : [active];
    }
    for (const file of files) await this.diagnose(await this.content(file), nameOf(file));
  }

  private async diagnoseFolder(uri?: vscode.Uri): Promise<void> {
    const chosen = uri ?? (await vscode.window.showOpenDialog({ canSelectFiles: false, canSelectFolders: true, openLabel: vscode.l10n.t("Diagnose") }))?.[0];
    if (chosen !== undefined) await this.diagnose(await this.content(chosen), nameOf(chosen));
  }

  private async diagnoseTerminalSelection(): Promise<void> {
    const text = await terminal.selectedText();
    if (text.trim() === "") {
      void vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: nothing is selected in the terminal."));
      return;
    }
    await this.diagnose({ text, title: vscode.l10n.t("terminal selection") }, vscode.l10n.t("terminal selection"));
  }

  private async diagnoseLastTerminalCommand(): Promise<void> {
    const text = await terminal.lastCommandOutput();
    if (text.trim() === "") {
      void vscode.window.showInformationMessage(
        vscode.l10n.t(
          "FirstFault: no output of a last command is known. It needs shell integration in the terminal; without it, select the output and run Diagnose Terminal Selection.",
        ),
      );
      return;
    }
    await this.diagnose({ text, title: vscode.l10n.t("last terminal command") }, vscode.l10n.t("last terminal command"));
  }

  private async diagnoseClipboard(): Promise<void> {
    const text = await vscode.env.clipboard.readText();
    if (text.trim() === "") {
      void vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: the clipboard holds no text."));
      return;
    }
    await this.diagnose({ text, title: vscode.l10n.t("clipboard") }, vscode.l10n.t("clipboard"));
  }

  private async explain(id?: string): Promise<void> {
    const chosen = id ?? (await this.pickFailure());
    if (chosen === undefined) return;
    const page = await this.session.request(ExplainRequest, { id: chosen });
    await this.reports.showPage(page.title, page.markdown);
  }

  private async pickFailure(): Promise<string | undefined> {
    const items = this.session.request(FailuresRequest, {}).then(({ failures }) => pickItems(failures));
    const options = {
      title: vscode.l10n.t("Explain Failure"),
      placeHolder: vscode.l10n.t("Name of a failure, or words of its description"),
      matchOnDescription: true,
      matchOnDetail: true,
    };
    const chosen = await vscode.window.showQuickPick<FailureItem>(items, options);
    return chosen?.id;
  }

  /** Shows the report of a document, or the last one. A code lens and the status item pass the document. */
  private async showReport(uri?: string): Promise<void> {
    if (uri !== undefined) {
      const resource = vscode.Uri.parse(uri, true);
      await this.diagnose(await this.content(resource), nameOf(resource));
      return;
    }
    if (await this.reports.showLast()) return;
    if (activeResource() === undefined) {
      void vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: there is no report yet. Open a log, or select some text and diagnose it."));
    } else {
      await this.diagnoseFile();
    }
  }

  private async openSample(): Promise<void> {
    const sample = vscode.Uri.file(path.join(this.folder, "samples", "stuck-rank.log"));
    await vscode.window.showTextDocument(sample, { preview: false });
  }

  /** What to send for a resource: the text of an unsaved document, the path of a file, else the bytes a file system provider gives. */
  private async content(uri: vscode.Uri): Promise<DiagnoseParams> {
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    if (open !== undefined) return contentOf(open);
    if (uri.scheme === "file") return { path: uri.fsPath };
    if (uri.scheme === "untitled") return contentOf(await vscode.workspace.openTextDocument(uri));
    const bytes = await vscode.workspace.fs.readFile(uri);
    return { text: new TextDecoder().decode(bytes), title: nameOf(uri) };
  }

  /** Sends one text or path, with progress and Cancel when it takes long, and shows the report. */
  private async diagnose(params: DiagnoseParams, name: string): Promise<void> {
    const cancel = new vscode.CancellationTokenSource();
    let show: ((percentage: number) => void) | undefined;
    const answer = this.session.diagnose(params, (percentage) => show?.(percentage), cancel.token);
    const done = answer.then(
      () => undefined,
      () => undefined,
    );
    const slow = setTimeout(() => {
      const options = { location: vscode.ProgressLocation.Notification, cancellable: true, title: vscode.l10n.t("FirstFault reads {0}", name) };
      void vscode.window.withProgress(options, (progress, token) => {
        token.onCancellationRequested(() => {
          cancel.cancel();
        });
        let reached = 0;
        show = (percentage) => {
          progress.report({ increment: percentage - reached, message: `${percentage}%` });
          reached = percentage;
        };
        return done;
      });
    }, PROGRESS_AFTER_MS);
    try {
      const result = await answer;
      if (!cancel.token.isCancellationRequested) await this.reports.show(name, result.markdown);
    } catch (error) {
      if (!cancel.token.isCancellationRequested) throw error;
    } finally {
      clearTimeout(slow);
      cancel.dispose();
    }
  }

  /** Shows what went wrong in the words of the server; a server that does not run has said so already. */
  private async guard(action: () => unknown): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (error instanceof NotRunning) return;
      const message = explained(error);
      this.log.error(error instanceof Error && !(error instanceof ResponseError) ? error : message);
      // A message with a button is shown in full, one without is cut to a line.
      const logs = vscode.l10n.t("Show Logs");
      void vscode.window.showErrorMessage(`FirstFault: ${inOneParagraph(message)}`, logs).then((choice) => {
        if (choice === logs) this.log.show();
      });
    }
  }
}

/** What went wrong, in the words of the server where it still had any. */
function explained(error: unknown): string {
  if (error instanceof ResponseError && error.code === ErrorCodes.PendingResponseRejected) {
    return vscode.l10n.t("the server ended before it answered; it is started again. The log says why it ended.");
  }
  return error instanceof Error ? error.message : String(error);
}

/** The four parts of an error, which a notification would run together, as sentences. */
function inOneParagraph(message: string): string {
  const parts = message.replace(/^error: /, "").split(/\n\s*/);
  return parts.map((part) => part.replace(/^(reason|where|help): /, (_all, name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}: `)).join(". ");
}

/** The selected text, in document order, with empty lines for what was not selected: line numbers stay those of the document. */
function textInPlace(document: vscode.TextDocument, selections: readonly vscode.Selection[]): string {
  let text = "";
  let line = 0;
  for (const selection of [...selections].sort((a, b) => a.start.compareTo(b.start))) {
    text += "\n".repeat(Math.max(selection.start.line - line, text === "" ? 0 : 1)) + document.getText(selection);
    line = selection.end.line;
  }
  return text;
}

interface FailureItem extends vscode.QuickPickItem {
  id?: string;
}

function pickItems(failures: readonly Failure[]): FailureItem[] {
  const items: FailureItem[] = [];
  let layer: string | undefined;
  for (const failure of [...failures].sort((a, b) => a.layer.localeCompare(b.layer) || a.title.localeCompare(b.title))) {
    if (failure.layer !== layer) {
      layer = failure.layer;
      items.push({ label: layer, kind: vscode.QuickPickItemKind.Separator });
    }
    items.push({ label: failure.title, description: failure.id, detail: failure.tags.join(" · "), id: failure.id });
  }
  return items;
}

/** The resource of the active tab, also when its file is too large to have a document. */
function activeResource(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom) return input.uri;
  return vscode.window.activeTextEditor?.document.uri;
}
