// The report view: webview panels with the document that the server renders, and what its buttons ask for. Knows nothing of its content.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import type { Subject } from "./documents";
import type { Excerpts } from "./excerpts";
import { applySetting } from "./launch-fix";
import { copyText } from "./navigation";
import { LocateRequest, ViewRequest } from "./protocol";
import type { Session } from "./session";
import { typeInTerminal } from "./terminal";
import type { Trouble } from "./trouble";

/** What a button of the report sends. */
type Message =
  | { type: "open"; file: string; line: number }
  | { type: "copy"; text: string }
  | { type: "run"; command: string }
  | { type: "applyFix"; setting: unknown }
  | { type: "explain"; id: string };

interface Shown {
  panel: vscode.WebviewPanel;
  subject: Subject;
}

/** One panel for each thing that was diagnosed; diagnosing it again replaces what the panel shows. */
export class ReportPanels implements vscode.Disposable {
  private readonly panels = new Map<string, Shown>();
  private last: Subject | undefined;

  constructor(
    private readonly folder: vscode.Uri,
    private readonly session: Session,
    private readonly excerpts: Excerpts,
    private readonly trouble: Trouble,
  ) {}

  /** Shows the report of what was diagnosed last under this name. Throws as `Session.request` does. */
  async show(subject: Subject): Promise<void> {
    const nonce = randomBytes(18).toString("base64url");
    // The document holds its style and script itself, so that no source but the nonce is allowed.
    const view = await this.session.request(ViewRequest, { ...subject.content, nonce, cspSource: "" });
    this.last = subject;
    const shown = this.panels.get(keyOf(subject)) ?? this.create(subject);
    shown.subject = subject;
    shown.panel.title = vscode.l10n.t("FirstFault · {0}", view.title);
    shown.panel.webview.html = view.html;
    shown.panel.reveal(undefined, false);
  }

  /** Shows the last report again; false when there was none. */
  async showLast(): Promise<boolean> {
    if (this.last === undefined) return false;
    await this.show(this.last);
    return true;
  }

  dispose(): void {
    for (const { panel } of this.panels.values()) panel.dispose();
  }

  private create(subject: Subject): Shown {
    const options = { enableScripts: true, localResourceRoots: [], enableFindWidget: true };
    const panel = vscode.window.createWebviewPanel("firstfault.report", "FirstFault", this.column(), options);
    panel.iconPath = vscode.Uri.joinPath(this.folder, "extension", "icon.png");
    const shown = { panel, subject };
    this.panels.set(keyOf(subject), shown);
    panel.onDidDispose(() => this.panels.delete(keyOf(shown.subject)));
    panel.webview.onDidReceiveMessage((message: Message) => this.trouble.guard(() => this.receive(shown, message)));
    return shown;
  }

  /** Where other reports are, else beside what the person looks at. */
  private column(): vscode.ViewColumn {
    const other = [...this.panels.values()].at(-1)?.panel.viewColumn;
    if (other !== undefined) return other;
    return vscode.window.tabGroups.activeTabGroup.activeTab === undefined ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside;
  }

  private async receive(shown: Shown, message: Message): Promise<void> {
    switch (message.type) {
      case "open":
        await this.open(shown, message.file, message.line);
        break;
      case "copy":
        await copyText(message.text);
        break;
      case "run":
        await typeInTerminal(message.command);
        break;
      case "applyFix":
        await applySetting(this.session, message.setting, shown.subject.content, columnBeside(shown.panel));
        break;
      case "explain":
        await vscode.commands.executeCommand("firstfault.explain", message.id);
        break;
    }
  }

  /** Shows a line of the log beside the report. */
  private async open({ panel, subject }: Shown, file: string, line: number): Promise<void> {
    const place = subject.document === undefined ? await this.locate(subject, file, line) : undefined;
    const uri = place === undefined ? subject.document : vscode.Uri.parse(place.uri, true);
    if (uri === undefined) return;
    const start = new vscode.Position(place?.range.start.line ?? line - 1, place?.range.start.character ?? 0);
    const end = place === undefined ? start : new vscode.Position(place.range.end.line, place.range.end.character);
    const selection = new vscode.Range(start, end);
    const column = columnOf(uri) ?? columnBeside(panel);
    if (await this.excerpts.showIfLarge(uri, selection, column)) return;
    await vscode.window.showTextDocument(uri, { viewColumn: column, selection });
  }

  private locate(subject: Subject, file: string, line: number) {
    return this.session.request(LocateRequest, { ...subject.content, file, line });
  }
}

function keyOf({ content }: Subject): string {
  if ("path" in content) return `path ${content.path}`;
  return "paths" in content ? `paths ${[...content.paths].sort().join("\n")}` : `text ${content.title}`;
}

/** The column where a document is shown already. */
function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  const shows = (tab: vscode.Tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === uri.toString();
  return vscode.window.tabGroups.all.find((group) => group.tabs.some(shows))?.viewColumn;
}

/** A column that is not the panel's own. */
function columnBeside(panel: vscode.WebviewPanel): vscode.ViewColumn {
  return panel.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Beside : vscode.ViewColumn.One;
}
