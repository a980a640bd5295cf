// Offers the diagnosis of a training command that failed in a terminal, from what it printed. Knows no launcher and no failure.
import path from "node:path";
import * as vscode from "vscode";

import { subjectOfText, type Subject } from "./documents";
import { startsTraining } from "./launchers";
import { DiagnoseRequest } from "./protocol";
import type { ReportPanels } from "./report-panel";
import type { Session } from "./session";
import type { Trouble } from "./trouble";

/** The exit status of a command that the person ended with Ctrl+C. */
const INTERRUPTED = 130;
/** What is kept of an output: its beginning, and what came last. */
const HEAD_CHARACTERS = 1_000_000;
const TAIL_CHARACTERS = 7_000_000;
const LAST_OUTPUT_MS = 2_000;

/** Listens to terminals with shell integration; others say nothing. */
export class TerminalOffer implements vscode.Disposable {
  private readonly running = new Map<vscode.TerminalShellExecution, Output>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly session: Session,
    private readonly reports: ReportPanels,
    private readonly trouble: Trouble,
  ) {
    this.subscriptions = [
      vscode.window.onDidStartTerminalShellExecution(({ execution }) => {
        if (mode() !== "off" && startsTraining(execution.commandLine.value)) this.running.set(execution, new Output(execution));
      }),
      vscode.window.onDidEndTerminalShellExecution(({ execution, exitCode }) => {
        const output = this.running.get(execution);
        this.running.delete(execution);
        if (output === undefined || exitCode === undefined || exitCode === 0 || exitCode === INTERRUPTED) return;
        // Nobody asked for this, so trouble with it stays in the log.
        this.offer(execution, output).catch((error: unknown) => {
          this.trouble.note(error);
        });
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private async offer(execution: vscode.TerminalShellExecution, output: Output): Promise<void> {
    const subject = await subjectOf(execution, await output.text());
    if (subject === undefined) return;
    const found = await this.session.request(DiagnoseRequest, subject.content);
    if (found.incidents === 0) return;
    if (mode() === "on") {
      await this.reports.show(subject);
      return;
    }
    const [show, never] = [vscode.l10n.t("Show"), vscode.l10n.t("Never Offer")];
    const choice = await vscode.window.showInformationMessage(`FirstFault: ${found.summary}`, show, never);
    if (choice === never) await vscode.workspace.getConfiguration("firstfault").update("terminal.offer", "off", vscode.ConfigurationTarget.Global);
    if (choice === show) await this.trouble.guard(() => this.reports.show(subject));
  }
}

/** Collects what a command prints. */
class Output {
  private head = "";
  private tail: string[] = [];
  private tailLength = 0;
  private readonly ended: Promise<void>;

  constructor(execution: vscode.TerminalShellExecution) {
    this.ended = this.collect(execution.read());
  }

  /** All of it, without the middle of a very long one. */
  async text(): Promise<string> {
    await Promise.race([this.ended, new Promise((resolve) => setTimeout(resolve, LAST_OUTPUT_MS))]);
    return this.head + this.tail.join("");
  }

  private async collect(stream: AsyncIterable<string>): Promise<void> {
    for await (const data of stream) {
      if (this.head.length < HEAD_CHARACTERS) {
        this.head += data;
        continue;
      }
      this.tail.push(data);
      this.tailLength += data.length;
      while (this.tailLength > TAIL_CHARACTERS) this.tailLength -= this.tail.shift()?.length ?? 0;
    }
  }
}

/** What to diagnose: what was printed, or for a batch job the file that it wrote. */
async function subjectOf(execution: vscode.TerminalShellExecution, text: string): Promise<Subject | undefined> {
  const batch = /Submitted batch job (\d+)/.exec(text)?.[1];
  if (batch !== undefined && execution.cwd !== undefined) {
    const log = vscode.Uri.joinPath(execution.cwd, `slurm-${batch}.out`);
    const exists = await vscode.workspace.fs.stat(log).then(
      () => true,
      () => false,
    );
    if (exists && log.scheme === "file") return { content: { path: log.fsPath }, name: path.basename(log.fsPath) };
  }
  return text.trim() === "" ? undefined : subjectOfText(text, vscode.l10n.t("terminal: {0}", execution.commandLine.value.trim().slice(0, 60)));
}

function mode(): string {
  return vscode.workspace.getConfiguration("firstfault").get<string>("terminal.offer", "ask");
}
