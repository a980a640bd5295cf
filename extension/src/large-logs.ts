// Keeps large documents out of the protocol: the server reads them from disk. Knows no failure and no command.
import * as vscode from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";

import { isEnabled, isLog, length, maxSyncBytes } from "./documents";
import { isWanted } from "./features";
import { DiagnoseRequest } from "./protocol";

const QUIET_AFTER_CHANGE_MS = 2_000;

/** Withholds documents above the limit and documents whose problems are not wanted; asks for large files by path instead. */
export class LargeLogs {
  client: LanguageClient | undefined;
  private readonly withheld = new Set<string>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(private readonly log: vscode.LogOutputChannel) {}

  middleware(): Middleware {
    return {
      didOpen: async (document, next) => {
        if (isEnabled(document.uri) && length(document) <= maxSyncBytes()) return next(document);
        this.withheld.add(document.uri.toString());
        this.diagnose(document, 0);
      },
      didChange: async (event, next) => {
        if (!this.isWithheld(event.document.uri)) return next(event);
        if (event.contentChanges.length > 0) this.diagnose(event.document, QUIET_AFTER_CHANGE_MS);
      },
      didSave: async (document, next) => {
        if (!this.isWithheld(document.uri)) return next(document);
      },
      didClose: async (document, next) => {
        if (!this.withheld.delete(document.uri.toString())) return next(document);
      },
      provideDiagnostics: (document, previous, token, next) => {
        const uri = document instanceof vscode.Uri ? document : document.uri;
        return this.isWithheld(uri) ? undefined : next(document, previous, token);
      },
      sendRequest: (type, params, token, next) => {
        const uri = documentOf(params);
        const method = typeof type === "string" ? type : type.method;
        return uri === undefined || (isEnabled(uri) && isWanted(method, uri)) ? next(type, params, token) : Promise.resolve(null as never);
      },
    };
  }

  private isWithheld(uri: vscode.Uri): boolean {
    return this.withheld.has(uri.toString());
  }

  /** Asks the server to read a file that is not sent to it; the problems come back as published diagnostics. */
  private diagnose(document: vscode.TextDocument, delay_ms: number): void {
    const { uri } = document;
    if (uri.scheme !== "file" || !isEnabled(uri) || !isLog(document)) return;
    clearTimeout(this.timers.get(uri.toString()));
    const timer = setTimeout(() => {
      this.timers.delete(uri.toString());
      if (!this.isWithheld(uri)) return;
      this.client?.sendRequest(DiagnoseRequest.method, { path: uri.fsPath }).catch((error: unknown) => {
        this.log.warn(`${uri.fsPath}: ${String(error)}`);
      });
    }, delay_ms);
    this.timers.set(uri.toString(), timer);
  }
}

/** The document that a request is about, if it is about one. */
function documentOf(params: unknown): vscode.Uri | undefined {
  const uri = (params as { textDocument?: { uri?: unknown } } | undefined)?.textDocument?.uri;
  return typeof uri === "string" ? vscode.Uri.parse(uri) : undefined;
}
