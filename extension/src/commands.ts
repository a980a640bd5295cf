// The commands: each takes a text or a path to the server and shows what comes back. Knows no failure.
import path from "node:path";
import * as vscode from "vscode";

import { activeResource } from "./active-resource";
import { diagnose } from "./diagnosis";
import { nameOf, subjectAt, subjectOf, subjectOfText, subjectsAt, type Subject } from "./documents";
import { copyText, goToFirstFault } from "./navigation";
import type { PageView } from "./page-view";
import { FailuresRequest, type Failure } from "./protocol";
import type { ReportPanels } from "./report-panel";
import type { Session } from "./session";
import * as terminal from "./terminal";
import type { Trouble } from "./trouble";

const SAMPLES = ["stuck-rank.log", "bad-row.log", "killed-rank.log"];

/** Everything a person can ask for; registered once, when the extension is activated. */
export class Commands {
  constructor(
    private readonly folder: string,
    private readonly session: Session,
    private readonly reports: ReportPanels,
    private readonly pages: PageView,
    private readonly trouble: Trouble,
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
      "firstfault.openSample": (name?: string) => this.openSample(name),
      "firstfault.goToFirstFault": goToFirstFault,
      "firstfault.copyText": copyText,
      "firstfault.restartServer": () => this.session.restart(),
      "firstfault.showLogs": () => {
        this.log.show();
      },
    };
    return Object.entries(handlers).map(([id, handler]) =>
      vscode.commands.registerCommand(id, (...args: never[]) => this.trouble.guard(() => handler(...args))),
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
    const name = nameOf(document.uri);
    if (chosen.length === 0) await this.diagnose(subjectOf(document));
    else await this.diagnose({ content: { text: textInPlace(document, chosen), title: name }, name, document: document.uri });
  }

  private async diagnoseFile(uri?: vscode.Uri, uris?: vscode.Uri[]): Promise<void> {
    let files = uris !== undefined && uris.length > 0 ? uris : uri === undefined ? [] : [uri];
    if (files.length === 0) {
      const active = activeResource();
      files = active === undefined ? ((await vscode.window.showOpenDialog({ canSelectMany: true, openLabel: vscode.l10n.t("Diagnose") })) ?? []) : [active];
    }
    for (const subject of await subjectsAt(files)) await this.diagnose(subject);
  }

  private async diagnoseFolder(uri?: vscode.Uri): Promise<void> {
    const chosen = uri ?? (await vscode.window.showOpenDialog({ canSelectFiles: false, canSelectFolders: true, openLabel: vscode.l10n.t("Diagnose") }))?.[0];
    if (chosen !== undefined) await this.diagnose(await subjectAt(chosen));
  }

  private async diagnoseTerminalSelection(): Promise<void> {
    const nothing = vscode.l10n.t("FirstFault: nothing is selected in the terminal.");
    await this.diagnoseText(await terminal.selectedText(), vscode.l10n.t("terminal selection"), nothing);
  }

  private async diagnoseLastTerminalCommand(): Promise<void> {
    const nothing = vscode.l10n.t(
      "FirstFault: no output of a last command is known. It needs shell integration in the terminal; without it, select the output and run Diagnose Terminal Selection.",
    );
    await this.diagnoseText(await terminal.lastCommandOutput(), vscode.l10n.t("last terminal command"), nothing);
  }

  private async diagnoseClipboard(): Promise<void> {
    const nothing = vscode.l10n.t("FirstFault: the clipboard holds no text.");
    await this.diagnoseText(await vscode.env.clipboard.readText(), vscode.l10n.t("clipboard"), nothing);
  }

  private async diagnoseText(text: string, title: string, nothing: string): Promise<void> {
    if (text.trim() === "") void vscode.window.showInformationMessage(nothing);
    else await this.diagnose(subjectOfText(text, title));
  }

  private async explain(id?: string): Promise<void> {
    const chosen = id ?? (await this.pickFailure());
    if (chosen === undefined) return;
    await this.pages.show(chosen);
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
      await this.diagnose(await subjectAt(vscode.Uri.parse(uri, true)));
      return;
    }
    if (await this.reports.showLast()) return;
    if (activeResource() === undefined) {
      void vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: there is no report yet. Open a log, or select some text and diagnose it."));
    } else {
      await this.diagnoseFile();
    }
  }

  private async openSample(name?: string): Promise<void> {
    const sample = SAMPLES.find((known) => known === name) ?? SAMPLES[0] ?? "";
    await vscode.window.showTextDocument(vscode.Uri.file(path.join(this.folder, "samples", sample)), { preview: false });
  }

  private async diagnose(subject: Subject): Promise<void> {
    if ((await diagnose(this.session, subject)) !== undefined) await this.reports.show(subject);
  }
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
