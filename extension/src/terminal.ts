// Takes text out of the active terminal and leaves the clipboard as it was. Knows no failure.
import * as vscode from "vscode";

/** The selected text of the active terminal; empty when there is none. */
export function selectedText(): Promise<string> {
  return throughClipboard("workbench.action.terminal.copySelection");
}

/** The output of the last command of the active terminal; empty without shell integration. */
export function lastCommandOutput(): Promise<string> {
  return throughClipboard("workbench.action.terminal.copyLastCommandOutput");
}

/** No stable API gives the text of a terminal, so it goes through the clipboard, which is restored also after an error. */
async function throughClipboard(command: string): Promise<string> {
  const { clipboard } = vscode.env;
  const saved = await clipboard.readText();
  try {
    await clipboard.writeText("");
    await vscode.commands.executeCommand(command);
    return await clipboard.readText();
  } finally {
    await clipboard.writeText(saved);
  }
}
