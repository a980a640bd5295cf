// Says which documents the server gets to see, and how: in the protocol or by path. Knows no failure and no command.
import * as vscode from "vscode";
import type { DocumentSelector } from "vscode-languageclient";

/** Logs, whatever language they were given. */
export const LOGS: vscode.DocumentFilter[] = [
  { language: "log" },
  { scheme: "file", pattern: "**/*.{log,out,err,stdout,stderr}" },
  { scheme: "file", pattern: "**/*.[oe][0-9]*" },
  { scheme: "file", pattern: "**/rank*.txt" },
];

/** What the server is told of: logs, and the scripts that a quick fix may edit. */
export const SELECTOR: DocumentSelector = [
  ...LOGS.map((log) => ({ ...log, language: log.language ?? "*" })),
  { scheme: "file", language: "shellscript" },
  { scheme: "file", language: "python" },
  { scheme: "file", language: "yaml" },
] as DocumentSelector;

/** Documents above this many characters are not sent to the server. */
export function maxSyncBytes(): number {
  return Math.round(vscode.workspace.getConfiguration("firstfault").get<number>("maxSyncMegabytes", 4) * 1024 * 1024);
}

/** Whether the problems, hovers and fixes of this document are wanted. */
export function isEnabled(uri: vscode.Uri): boolean {
  return vscode.workspace.getConfiguration("firstfault", uri).get<boolean>("enabled", true);
}

/** The length in characters, without making one string of the document. */
export function length(document: vscode.TextDocument): number {
  return document.offsetAt(document.lineAt(document.lineCount - 1).range.end);
}

/** What to send to the server for a document: its path where the disk holds the same text, else the text. */
export function contentOf(document: vscode.TextDocument): { path: string } | { text: string; title: string } {
  if (document.uri.scheme === "file" && !document.isDirty) return { path: document.uri.fsPath };
  return { text: document.getText(), title: nameOf(document.uri) };
}

/** The last part of a path, as a person would call the document. */
export function nameOf(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf("/") + 1) || uri.path;
}
