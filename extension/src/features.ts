// Says which features of an open document are switched on. Knows no document and no failure.
import * as vscode from "vscode";

/** The setting below `firstfault.show` for each request of the protocol that has one. */
const SETTINGS: Readonly<Record<string, string>> = {
  "textDocument/codeLens": "show.codeLens",
  "textDocument/documentHighlight": "show.highlights",
  "textDocument/documentLink": "show.links",
  "textDocument/documentSymbol": "show.outline",
  "textDocument/foldingRange": "show.folding",
  "textDocument/hover": "show.hover",
  "textDocument/inlayHint": "show.inlayHints",
  "textDocument/codeAction": "show.quickFixes",
};

/** Whether the answer to a request about a document is wanted. */
export function isWanted(method: string, uri: vscode.Uri): boolean {
  const setting = SETTINGS[method];
  return setting === undefined || vscode.workspace.getConfiguration("firstfault", uri).get<boolean>(setting, true);
}
