// Takes text out of terminals, leaving the clipboard as it was, and types commands into one. Knows no failure.
import * as vscode from "vscode";

import { copyText } from "./navigation";

const NAME = "FirstFault";
/** Empties the line in which something typed before may still stand. */
const KILL_LINE = "\u0015";

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

/** Types a command into a terminal of its own, and runs it only when the person says so. */
export async function typeInTerminal(command: string): Promise<void> {
  // A line end would run what stands before it, and other control characters do what nobody can see.
  if (/\p{Cc}/u.test(command)) {
    await copyText(command);
    void vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: the command has several lines. It is on the clipboard and was not typed."));
    return;
  }
  const known = vscode.window.terminals.find((terminal) => terminal.name === NAME && terminal.exitStatus === undefined);
  const terminal = known ?? vscode.window.createTerminal(NAME);
  terminal.show();
  if (known !== undefined && process.platform !== "win32") known.sendText(KILL_LINE, false);
  terminal.sendText(command, false);
  const run = vscode.l10n.t("Run");
  const choice = await vscode.window.showInformationMessage(vscode.l10n.t("FirstFault: the command stands in the terminal. Press Enter there to run it."), run);
  if (choice === run) terminal.sendText("", true);
}
