// Shows Markdown that the server made, beside what the person was looking at. Knows nothing of its content.
import * as vscode from "vscode";

const SCHEME = "firstfault-report";
const KEPT = 20;

/** Virtual documents, one a name, and their rendered previews. */
export class ReportView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly contents = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private last: string | undefined;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.contents.get(uri.path) ?? vscode.l10n.t("This report is no longer kept; diagnose again.");
  }

  /** Shows a report under a name such as `slurm-81.out`; the same name replaces what was there. */
  async show(name: string, markdown: string): Promise<void> {
    this.last = pathOf(vscode.l10n.t("FirstFault · {0}", name));
    await this.open(this.last, markdown);
  }

  /** Shows a page of the encyclopedia. */
  async showPage(title: string, markdown: string): Promise<void> {
    await this.open(pathOf(title), markdown);
  }

  /** Shows the last report again; false when there was none. */
  async showLast(): Promise<boolean> {
    if (this.last === undefined) return false;
    await this.open(this.last, this.contents.get(this.last) ?? "");
    return true;
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  private async open(path: string, markdown: string): Promise<void> {
    this.contents.delete(path);
    this.contents.set(path, markdown);
    for (const oldest of [...this.contents.keys()].slice(0, -KEPT)) this.contents.delete(oldest);
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    this.changed.fire(uri);
    const beside = vscode.window.tabGroups.all.some((group) => group.tabs.length > 0);
    await vscode.commands.executeCommand(beside ? "markdown.showPreviewToSide" : "markdown.showPreview", uri);
  }
}

function pathOf(name: string): string {
  return `/${name.replaceAll("/", "∕")}`;
}
