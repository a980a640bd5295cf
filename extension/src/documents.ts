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

/** Files that start jobs, which a quick fix may edit: what is open and unsaved of them must be known. */
const LAUNCH_FILES: vscode.DocumentFilter[] = [
  ...["shellscript", "python", "yaml", "dockercompose", "dockerfile", "makefile", "dotenv"].map((language) => ({ scheme: "file", language })),
  { scheme: "file", pattern: "**/{Dockerfile,Dockerfile.*,Makefile,.env,.env.*,.deepspeed_env}" },
  { scheme: "file", pattern: "**/*.{sbatch,slurm,sub,pbs,env}" },
  { scheme: "file", pattern: "**/.vscode/{launch,tasks}.json" },
];

/** Pages that people write of their own failures: their mistakes are shown as they are written. */
const OWN_PAGES: vscode.DocumentFilter[] = [{ scheme: "file", language: "markdown", pattern: "**/.firstfault/pages/*.md" }];

/** What the server is told of. */
export const SELECTOR: DocumentSelector = [...LOGS, ...LAUNCH_FILES, ...OWN_PAGES].map((filter) => ({ ...filter, language: filter.language ?? "*" })) as DocumentSelector;

/** The scheme of excerpts of files too large for an editor; the server knows the files themselves. */
export const EXCERPT_SCHEME = "firstfault-excerpt";

/** A text, a path or the paths of one job as the server takes them. */
export type Content = { path: string } | { paths: string[] } | { text: string; title: string };

/** What a report is about. `document` is where its lines stand when it was made of a text. */
export interface Subject {
  content: Content;
  name: string;
  document?: vscode.Uri;
}

/** Documents above this many characters are not sent to the server. */
export function maxSyncBytes(): number {
  return Math.round(vscode.workspace.getConfiguration("firstfault").get<number>("maxSyncMegabytes", 4) * 1024 * 1024);
}

/** Whether the problems, hovers and fixes of this document are wanted. */
export function isEnabled(uri: vscode.Uri): boolean {
  return uri.scheme !== EXCERPT_SCHEME && vscode.workspace.getConfiguration("firstfault", uri).get<boolean>("enabled", true);
}

/** Whether problems are wanted in this document: always in a log, in a launch file when hints are. */
export function wantsProblems(document: vscode.TextDocument): boolean {
  if (!isEnabled(document.uri)) return false;
  return isLog(document) || vscode.languages.match(OWN_PAGES, document) > 0 || vscode.workspace.getConfiguration("firstfault", document.uri).get<boolean>("lint", true);
}

/** Whether a document is taken for a log. */
export function isLog(document: vscode.TextDocument): boolean {
  return vscode.languages.match(LOGS, document) > 0;
}

/** The length in characters, without making one string of the document. */
export function length(document: vscode.TextDocument): number {
  return document.offsetAt(document.lineAt(document.lineCount - 1).range.end);
}

/** A whole document: by its path where the disk holds the same text, else as text. */
export function subjectOf(document: vscode.TextDocument): Subject {
  const name = nameOf(document.uri);
  if (document.uri.scheme === "file" && !document.isDirty) return { content: { path: document.uri.fsPath }, name };
  return { content: { text: document.getText(), title: name }, name, document: document.uri };
}

/** A resource: the text of an unsaved document, the path of a file, else the bytes that a file system provider gives. */
export async function subjectAt(uri: vscode.Uri): Promise<Subject> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open !== undefined) return subjectOf(open);
  const name = nameOf(uri);
  if (uri.scheme === "file") return { content: { path: uri.fsPath }, name };
  if (uri.scheme === "untitled") return subjectOf(await vscode.workspace.openTextDocument(uri));
  return { content: { text: new TextDecoder().decode(await vscode.workspace.fs.readFile(uri)), title: name }, name, document: uri };
}

/** Several resources: as one job where all are files that hold what is shown of them, else each by itself. */
export async function subjectsAt(uris: readonly vscode.Uri[]): Promise<Subject[]> {
  const subjects = await Promise.all(uris.map(subjectAt));
  const paths = subjects.flatMap(({ content }) => ("path" in content ? [content.path] : []));
  if (paths.length < 2 || paths.length < subjects.length) return subjects;
  return [{ content: { paths }, name: vscode.l10n.t("{0} logs", paths.length) }];
}

/** A text without a document. */
export function subjectOfText(text: string, title: string): Subject {
  return { content: { text, title }, name: title };
}

/** The last part of a path, as a person would call the document. */
export function nameOf(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf("/") + 1) || uri.path;
}
