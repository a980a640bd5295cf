// Has the server diagnose one text or path, with progress and Cancel when it takes long. Knows neither where it comes from nor how it is shown.
import * as vscode from "vscode";

import type { Subject } from "./documents";
import type { DiagnoseResult } from "./protocol";
import type { Session } from "./session";

/** A diagnosis that takes longer shows its progress and can be cancelled. */
const PROGRESS_AFTER_MS = 500;

/** Diagnoses; undefined when the person cancelled. Throws as `Session.request` does. */
export async function diagnose(session: Session, subject: Subject): Promise<DiagnoseResult | undefined> {
  const cancel = new vscode.CancellationTokenSource();
  let show: ((percentage: number) => void) | undefined;
  const answer = session.diagnose(subject.content, (percentage) => show?.(percentage), cancel.token);
  const done = answer.then(
    () => undefined,
    () => undefined,
  );
  const slow = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, cancellable: true, title: vscode.l10n.t("FirstFault reads {0}", subject.name) };
    void vscode.window.withProgress(options, (progress, token) => {
      token.onCancellationRequested(() => {
        cancel.cancel();
      });
      let reached = 0;
      show = (percentage) => {
        progress.report({ increment: percentage - reached, message: `${percentage}%` });
        reached = percentage;
      };
      return done;
    });
  }, PROGRESS_AFTER_MS);
  try {
    const result = await answer;
    return cancel.token.isCancellationRequested ? undefined : result;
  } catch (error) {
    if (cancel.token.isCancellationRequested) return undefined;
    throw error;
  } finally {
    clearTimeout(slow);
    cancel.dispose();
  }
}
