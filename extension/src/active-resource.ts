// Says which resource the person looks at. Knows nothing of its content.
import * as vscode from "vscode";

/** The resource of the active tab, also when its file is too large to have a document. */
export function activeResource(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom) return input.uri;
  return vscode.window.activeTextEditor?.document.uri;
}
