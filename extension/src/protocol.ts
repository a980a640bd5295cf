// The messages of the FirstFault server beyond the Language Server Protocol. Types and names only.
import { NotificationType } from "vscode-languageclient/node";

/** What the client tells the server when it starts. */
export interface InitializationOptions {
  /** Whether the workspace is trusted. */
  trusted: boolean;
  /** Documents above this many bytes are not sent to the server. */
  maxSyncBytes: number;
}

/** Either `text` or `path` is given. `title` names a text in the report. */
export interface DiagnoseParams {
  text?: string;
  path?: string;
  title?: string;
  workDoneToken?: string;
}

export interface DiagnoseResult {
  /** The report in the schema `firstfault.report/1`; the client passes it on and reads nothing in it. */
  report: unknown;
  markdown: string;
  summary: string;
  incidents: number;
}

export interface ExplainResult {
  id: string;
  title: string;
  markdown: string;
}

export interface Failure {
  id: string;
  title: string;
  layer: string;
  role: string;
  tags: string[];
}

export interface StatusParams {
  state: "busy" | "idle";
  message: string;
  uri?: string;
}

/** A request by its method, with the types of what goes out and what comes back. */
export interface Request<P, R> {
  readonly method: string;
  /** Never present: it only carries the types. */
  readonly types?: [params: P, result: R];
}

export const DiagnoseRequest: Request<DiagnoseParams, DiagnoseResult> = { method: "firstfault/diagnose" };
export const ExplainRequest: Request<{ id: string }, ExplainResult> = { method: "firstfault/explain" };
export const FailuresRequest: Request<Record<string, never>, { failures: Failure[] }> = { method: "firstfault/failures" };
export const StatusNotification = new NotificationType<StatusParams>("firstfault/status");
