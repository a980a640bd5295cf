// Shows pages of the encyclopedia, which the server gives as Markdown, beside what the person was looking at. Knows nothing of their content.
import * as vscode from "vscode";

const SCHEME = "firstfault-page";
const KEPT = 20;

/** Virtual documents, one a page, and their rendered previews. */
export class PageView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly contents = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.contents.get(uri.path) ?? vscode.l10n.t("This page is no longer kept; run FirstFault: Explain Failure again.");
  }

  /** Shows a page under its title. */
  async show(title: string, markdown: string): Promise<void> {
    const path = `/${title.replaceAll("/", "∕")}`;
    this.contents.delete(path);
    this.contents.set(path, markdown);
    for (const oldest of [...this.contents.keys()].slice(0, -KEPT)) this.contents.delete(oldest);
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    this.changed.fire(uri);
    const beside = vscode.window.tabGroups.all.some((group) => group.tabs.length > 0);
    await vscode.commands.executeCommand(beside ? "markdown.showPreviewToSide" : "markdown.showPreview", uri);
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}
