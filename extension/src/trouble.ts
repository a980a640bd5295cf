// Tells a person what went wrong, in the words of the server where it still had any. Knows no command.
import * as vscode from "vscode";
import { ErrorCodes, ResponseError } from "vscode-languageclient/node";

import { NotRunning } from "./session";

/** Shows errors, and keeps them in the log. */
export class Trouble {
  constructor(private readonly log: vscode.LogOutputChannel) {}

  /** Does something and shows what went wrong with it. */
  async guard(action: () => unknown): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.show(error);
    }
  }

  /** Shows an error; a server that does not run has said so already. */
  show(error: unknown): void {
    if (error instanceof NotRunning) return;
    const message = explained(error);
    this.log.error(error instanceof Error && !(error instanceof ResponseError) ? error : message);
    // A message with a button is shown in full, one without is cut to a line.
    const logs = vscode.l10n.t("Show Logs");
    void vscode.window.showErrorMessage(`FirstFault: ${inOneParagraph(message)}`, logs).then((choice) => {
      if (choice === logs) this.log.show();
    });
  }

  /** Keeps an error that nobody waits for in the log. */
  note(error: unknown): void {
    if (!(error instanceof NotRunning)) this.log.warn(explained(error));
  }
}

/** What went wrong, in the words of the server where it still had any. */
export function explained(error: unknown): string {
  if (error instanceof ResponseError && error.code === ErrorCodes.PendingResponseRejected) {
    return vscode.l10n.t("the server ended before it answered; it is started again. The log says why it ended.");
  }
  return error instanceof Error ? error.message : String(error);
}

/** The four parts of an error, which a notification would run together, as sentences. */
export function inOneParagraph(message: string): string {
  const parts = message.replace(/^error: /, "").split(/\n\s*/);
  return parts.map((part) => part.replace(/^(reason|where|help): /, (_all, name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}: `)).join(". ");
}
