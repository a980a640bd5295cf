// Owns the language status item: what the server says it is doing or has found. Knows no failure.
import * as vscode from "vscode";

import type { StatusParams } from "./protocol";

/** Shows the server's state beside the language of a log; a click opens the report. */
export class Status implements vscode.Disposable {
  private readonly item: vscode.LanguageStatusItem;
  private readonly byDocument = new Map<string, string>();
  private readonly subscription: vscode.Disposable;
  private problem: string | undefined;

  constructor(selector: vscode.DocumentSelector) {
    this.item = vscode.languages.createLanguageStatusItem("firstfault.status", selector);
    this.item.name = "FirstFault";
    this.subscription = vscode.window.onDidChangeActiveTextEditor(() => {
      this.show();
    });
    this.starting();
  }

  starting(): void {
    this.problem = undefined;
    this.item.severity = vscode.LanguageStatusSeverity.Information;
    this.item.busy = true;
    this.item.text = "FirstFault";
    this.item.detail = vscode.l10n.t("starting the server");
    this.item.command = { command: "firstfault.showLogs", title: vscode.l10n.t("Show Logs") };
  }

  /** The server runs; `detail` says on which Python. */
  running(detail: string): void {
    this.item.busy = false;
    this.item.detail = detail;
    this.show();
  }

  /** The server does not run, for the reason given. */
  failed(reason: string): void {
    this.problem = reason;
    this.item.busy = false;
    this.item.severity = vscode.LanguageStatusSeverity.Error;
    this.item.text = vscode.l10n.t("FirstFault is not running");
    this.item.detail = reason;
    this.item.command = { command: "firstfault.restartServer", title: vscode.l10n.t("Restart Server") };
  }

  /** Takes a `firstfault/status` notification. */
  update(status: StatusParams): void {
    this.item.busy = status.state === "busy";
    if (status.uri !== undefined && status.state === "idle") this.byDocument.set(vscode.Uri.parse(status.uri).toString(), status.message);
    if (status.state === "busy" && status.message) this.item.text = `FirstFault: ${status.message}`;
    else this.show();
  }

  /** Forgets a closed document. */
  forget(uri: vscode.Uri): void {
    this.byDocument.delete(uri.toString());
  }

  dispose(): void {
    this.subscription.dispose();
    this.item.dispose();
  }

  private show(): void {
    if (this.problem !== undefined) return;
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    const message = uri === undefined ? undefined : this.byDocument.get(uri);
    this.item.severity = vscode.LanguageStatusSeverity.Information;
    this.item.text = message ? `FirstFault: ${message}` : "FirstFault";
    this.item.command = { command: "firstfault.showReport", title: vscode.l10n.t("Show Report"), arguments: uri === undefined ? [] : [uri] };
  }
}
