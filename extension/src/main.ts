// Puts the parts of the client together. Knows no more of each than how to make and end it.
import * as vscode from "vscode";

import { Commands } from "./commands";
import { LOGS } from "./documents";
import { ReportView } from "./report-view";
import { Session } from "./session";
import { Status } from "./status";

let session: Session | undefined;

/** Called once by the editor, at the first log or command. */
export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("FirstFault", { log: true });
  const status = new Status(LOGS);
  const reports = new ReportView();
  const running = new Session(context.extensionPath, log, status);
  session = running;
  context.subscriptions.push(
    log,
    status,
    reports,
    ...new Commands(context.extensionPath, running, reports, log).register(),
    vscode.workspace.onDidCloseTextDocument((document) => {
      status.forget(document.uri);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const needsRestart = ["interpreter", "maxSyncMegabytes", "enabled"].some((name) => event.affectsConfiguration(`firstfault.${name}`));
      if (needsRestart) void running.restart();
    }),
  );
  running.start().catch((error: unknown) => {
    log.error(error instanceof Error ? error : String(error));
  });
}

/** Called by the editor when it closes; the server gets a moment to end by itself. */
export async function deactivate(): Promise<void> {
  await session?.dispose();
}
