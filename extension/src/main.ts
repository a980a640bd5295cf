// Puts the parts of the client together. Knows no more of each than how to make and end it.
import * as vscode from "vscode";

import { registerAgentTool } from "./agent-tool";
import { Commands } from "./commands";
import { isLog, LOGS } from "./documents";
import { Excerpts } from "./excerpts";
import { PageView } from "./page-view";
import { ReportPanels } from "./report-panel";
import { Session } from "./session";
import { Status } from "./status";
import { TerminalOffer } from "./terminal-offer";
import { Trouble } from "./trouble";
import { Watching } from "./watching";

/** Settings that are read when the server starts or a document is opened. */
const READ_AT_START = ["enabled", "interpreter", "lint", "maxSyncMegabytes", "previewEdits", "show"];

let session: Session | undefined;

/** Called once by the editor, at the first log or command. */
export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("FirstFault", { log: true });
  const status = new Status(LOGS);
  const trouble = new Trouble(log);
  const running = new Session(context.extensionPath, log, status);
  session = running;
  const excerpts = new Excerpts(running);
  running.present = (...problems) => {
    excerpts.handleDiagnostics(...problems);
  };
  const reports = new ReportPanels(context.extensionUri, running, excerpts, trouble);
  const pages = new PageView(running);
  context.subscriptions.push(
    log,
    status,
    excerpts,
    reports,
    pages,
    new Watching(running, trouble),
    new TerminalOffer(running, reports, trouble),
    ...[registerAgentTool(running)].filter((tool) => tool !== undefined),
    ...new Commands(context.extensionPath, running, reports, pages, trouble, log).register(),
    vscode.workspace.onDidCloseTextDocument((document) => {
      status.forget(document.uri);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (READ_AT_START.some((name) => event.affectsConfiguration(`firstfault.${name}`))) void running.restart();
    }),
  );
  // A terminal or a command wakes the extension too; the server starts with the first log, or when a command needs it.
  const startFor = (documents: readonly vscode.TextDocument[]) => {
    if (documents.some(isLog)) running.start().catch((error: unknown) => {
      log.error(error instanceof Error ? error : String(error));
    });
  };
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument((document) => {
      startFor([document]);
    }),
  );
  startFor(vscode.workspace.textDocuments);
}

/** Called by the editor when it closes; the server gets a moment to end by itself. */
export async function deactivate(): Promise<void> {
  await session?.dispose();
}
