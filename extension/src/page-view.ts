// Shows pages of the encyclopedia, which the server gives as Markdown, rendered. Knows nothing of their content.
import * as vscode from "vscode";

import { ExplainRequest } from "./protocol";
import type { Session } from "./session";

/** The addresses that the server gives to pages: firstfault-page:/ID/TITLE. The manifest says that they open rendered. */
const SCHEME = "firstfault-page";
const RENDERED = "vscode.markdown.preview.editor";

/** Gives the Markdown of a page to the editor, whoever opens its address: a command, a problem's code, a restored tab. */
export class PageView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly session: Session) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      // A restarted server may have other pages of the user's own.
      session.onDidStart(() => {
        for (const { uri } of vscode.workspace.textDocuments) if (uri.scheme === SCHEME) this.changed.fire(uri);
      }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const id = uri.path.split("/")[1] ?? "";
    return (await this.session.request(ExplainRequest, { id })).markdown;
  }

  /** Shows the page of a failure beside what the person is looking at. Throws as a request does. */
  async show(id: string): Promise<void> {
    const { uri } = await this.session.request(ExplainRequest, { id });
    const beside = vscode.window.tabGroups.all.some((group) => group.tabs.length > 0);
    await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.parse(uri, true), RENDERED, beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active);
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
