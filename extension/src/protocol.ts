// The messages of the FirstFault server beyond the Language Server Protocol. Types and names only.
import { NotificationType, type Range, type WorkspaceEdit } from "vscode-languageclient/node";

/** What the client tells the server when it starts. */
export interface InitializationOptions {
  /** Whether the workspace is trusted. */
  trusted: boolean;
  /** Documents above this many bytes are not sent to the server. */
  maxSyncBytes: number;
}

/** Either `text`, `path` or the `paths` of one job are given. `title` names a text in the report. */
export interface DiagnoseParams {
  text?: string;
  path?: string;
  paths?: string[];
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

export interface ViewResult {
  /** A whole document for a webview; it allows nothing but what bears the nonce. */
  html: string;
  title: string;
  incidents: number;
}

/** Where a line of a report stands in the editor. */
export interface Place {
  uri: string;
  range: Range;
}

/** What a setting would change in the launch files of the workspace. Without an edit, `reason` says why there is none. */
export interface FixResult {
  edit: WorkspaceEdit | null;
  title: string;
  path: string | null;
  choices: { path: string; title: string }[];
  reason: string;
  /** The setting as a line that a person can put in by hand. */
  line: string;
}

export interface ExplainResult {
  id: string;
  title: string;
  markdown: string;
  /** The address under which the editor shows it rendered. */
  uri: string;
}

export interface Failure {
  id: string;
  title: string;
  layer: string;
  role: string;
  tags: string[];
}

/** Lines of a file, the first of which is 1-based line `first`. */
export interface ExcerptResult {
  first: number;
  lines: string[];
}

export interface StatusParams {
  state: "busy" | "idle";
  message: string;
  uri?: string;
}

/** What became of a file that is watched. `commands` inspect a job that stands still. */
export interface WatchedParams {
  path: string;
  uri: string;
  state: "reading" | "waiting" | "stalled";
  message: string;
  incidents: number;
  summary: string;
  commands: { title: string; command: string }[];
}

/** A request by its method, with the types of what goes out and what comes back. */
export interface Request<P, R> {
  readonly method: string;
  /** Never present: it only carries the types. */
  readonly types?: [params: P, result: R];
}

export const DiagnoseRequest: Request<DiagnoseParams, DiagnoseResult> = { method: "firstfault/diagnose" };
export const ViewRequest: Request<DiagnoseParams & { nonce: string; cspSource: string }, ViewResult> = { method: "firstfault/view" };
export const LocateRequest: Request<DiagnoseParams & { file: string; line: number }, Place> = { method: "firstfault/locate" };
export const ApplyFixRequest: Request<DiagnoseParams & { setting: unknown; launchFile?: string }, FixResult> = { method: "firstfault/applyFix" };
export const ExcerptRequest: Request<{ path: string; line: number; context: number }, ExcerptResult> = { method: "firstfault/excerpt" };
export const WatchRequest: Request<{ path: string; on: boolean }, { watching: string[] }> = { method: "firstfault/watch" };
export const ExplainRequest: Request<{ id: string }, ExplainResult> = { method: "firstfault/explain" };
export const FailuresRequest: Request<Record<string, never>, { failures: Failure[] }> = { method: "firstfault/failures" };
export const StatusNotification = new NotificationType<StatusParams>("firstfault/status");
export const WatchedNotification = new NotificationType<WatchedParams>("firstfault/watched");
