// Puts a setting that a report offers into a launch file of the workspace, and leaves saving to the person. Knows no setting and no file kind.
import path from "node:path";
import * as vscode from "vscode";

import type { Content } from "./documents";
import { copyText } from "./navigation";
import { ApplyFixRequest, type FixResult } from "./protocol";
import type { Session } from "./session";

/** Asks which file where several fit, edits it and shows it. Without one, says why and offers the line to copy. */
export async function applySetting(session: Session, setting: unknown, log: Content, column: vscode.ViewColumn): Promise<void> {
  let fix = await session.request(ApplyFixRequest, { ...log, setting });
  if (fix.choices.length > 1) {
    const launchFile = await pick(fix);
    if (launchFile === undefined) return;
    if (launchFile !== fix.path) fix = await session.request(ApplyFixRequest, { ...log, setting, launchFile });
  }
  if (fix.edit === null || fix.path === null) {
    await explain(fix);
    return;
  }
  const edit = await session.workspaceEdit(fix.edit);
  if (!(await vscode.workspace.applyEdit(edit))) {
    await explain({ ...fix, reason: vscode.l10n.t("the editor did not take the change of {0}", path.basename(fix.path)) });
    return;
  }
  const [changed] = edit.entries();
  const selection = changed?.[1][0]?.range;
  await vscode.window.showTextDocument(vscode.Uri.file(fix.path), { viewColumn: column, ...(selection && { selection }) });
  vscode.window.setStatusBarMessage(vscode.l10n.t("{0}, not saved yet", fix.title), 5_000);
}

async function pick(fix: FixResult): Promise<string | undefined> {
  const items = fix.choices.map((choice) => ({ label: choice.title, description: folderOf(choice.path), path: choice.path }));
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Which launch file is to be changed?"), matchOnDescription: true }))?.path;
}

/** The folder of a file within the workspace; empty at its top. */
function folderOf(file: string): string {
  const folder = path.dirname(vscode.workspace.asRelativePath(file));
  return folder === "." ? "" : folder;
}

async function explain(fix: FixResult): Promise<void> {
  const copy = vscode.l10n.t("Copy Line");
  const message = vscode.l10n.t("FirstFault: {0}: nothing was changed, because {1}.", fix.title, fix.reason);
  if ((await vscode.window.showInformationMessage(message, ...(fix.line ? [copy] : []))) === copy) await copyText(fix.line);
}
