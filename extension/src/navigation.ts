// The small commands that code lenses and quick fixes of the server name. Knows no failure.
import * as vscode from "vscode";

/** Puts the cursor on the line where a failure began. */
export async function goToFirstFault(uri: string, position: { line: number; character: number }): Promise<void> {
  const at = new vscode.Position(position.line, position.character);
  await vscode.window.showTextDocument(vscode.Uri.parse(uri, true), { selection: new vscode.Range(at, at), preserveFocus: false });
}

/** Puts a text, such as a line for a launch script, on the clipboard, and says so. */
export async function copyText(text: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  const line = text.trim().split("\n", 1)[0] ?? "";
  vscode.window.setStatusBarMessage(vscode.l10n.t("Copied: {0}", line.length > 60 ? `${line.slice(0, 60)}…` : line), 5_000);
}
