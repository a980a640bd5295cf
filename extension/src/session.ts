// Owns the life of the server: one process, started, stopped and restarted one step at a time. Knows no command.
import path from "node:path";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  TransportKind,
  WorkDoneProgress,
  type ClientCapabilities,
  type FeatureState,
  type LanguageClientOptions,
  type StaticFeature,
  type WorkspaceEdit,
} from "vscode-languageclient/node";

import { maxSyncBytes, SELECTOR, wantsProblems } from "./documents";
import { findInterpreter, NoInterpreter, type Interpreter } from "./interpreter";
import { LargeLogs } from "./large-logs";
import {
  DiagnoseRequest,
  StatusNotification,
  WatchedNotification,
  type DiagnoseParams,
  type DiagnoseResult,
  type InitializationOptions,
  type Request,
  type WatchedParams,
} from "./protocol";
import type { Status } from "./status";

const CRASHES_BEFORE_GIVING_UP = 4;
const CRASH_WINDOW_MS = 3 * 60_000;

/** The server does not run; the reason was already shown. */
export class NotRunning extends Error {}

/** Takes the problems that the server published for a file, and passes them on. */
type Presenter = (uri: vscode.Uri, diagnostics: vscode.Diagnostic[], next: (uri: vscode.Uri, diagnostics: vscode.Diagnostic[]) => void) => void;

/** A language client that can be restarted while requests wait for it. */
export class Session implements vscode.Disposable {
  private readonly starts = new vscode.EventEmitter<void>();
  private readonly watched = new vscode.EventEmitter<WatchedParams>();
  /** Fires whenever a server runs that knows nothing yet. */
  readonly onDidStart = this.starts.event;
  /** Fires when something became of a file that is watched. */
  readonly onWatched = this.watched.event;
  /** Where problems of files that are not open are shown. */
  present: Presenter = (uri, diagnostics, next) => {
    next(uri, diagnostics);
  };
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private readonly crashes: number[] = [];
  private diagnoses = 0;
  private told = false;
  private failure = "";

  constructor(
    private readonly folder: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly status: Status,
  ) {}

  /** Starts the server unless it runs. `loud` shows a failure again that was shown before. */
  async start({ loud = false } = {}): Promise<void> {
    if (loud) this.told = false;
    await this.enqueue(async () => {
      if (this.client === undefined) await this.launch();
    });
  }

  /** Stops the server and starts it again, also after settings or trust changed. */
  async restart(): Promise<void> {
    this.told = false;
    await this.enqueue(async () => {
      await this.shutdown();
      await this.launch();
    });
  }

  /** Sends a request, after starting the server if need be. Throws NotRunning when it cannot be started. */
  async request<P, R>(request: Request<P, R>, params: P, token?: vscode.CancellationToken): Promise<R> {
    const client = await this.running();
    return client.sendRequest<R>(request.method, params, token);
  }

  /** Diagnoses a text or a path; `progress` gets the percentage of a path that was read. Throws as `request` does. */
  async diagnose(params: DiagnoseParams, progress: (percentage: number) => void, token: vscode.CancellationToken): Promise<DiagnoseResult> {
    const client = await this.running();
    const workDoneToken = `firstfault-${this.diagnoses++}`;
    const listening = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
      if (value.kind === "report" && value.percentage !== undefined) progress(value.percentage);
    });
    try {
      return await client.sendRequest<DiagnoseResult>(DiagnoseRequest.method, { ...params, workDoneToken }, token);
    } finally {
      listening.dispose();
    }
  }

  /** An edit of the protocol as one of the editor. Throws as `request` does. */
  async workspaceEdit(edit: WorkspaceEdit): Promise<vscode.WorkspaceEdit> {
    const client = await this.running();
    return client.protocol2CodeConverter.asWorkspaceEdit(edit);
  }

  private async running(): Promise<LanguageClient> {
    await this.start({ loud: true });
    if (this.client === undefined) throw new NotRunning(this.failure);
    return this.client;
  }

  dispose(): Promise<void> {
    this.starts.dispose();
    this.watched.dispose();
    return this.enqueue(() => this.shutdown());
  }

  private enqueue(step: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(step, step);
    return this.queue;
  }

  private async launch(): Promise<void> {
    this.status.starting();
    let interpreter: Interpreter;
    try {
      interpreter = await findInterpreter(this.folder);
    } catch (error) {
      if (!(error instanceof NoInterpreter)) throw error;
      this.report(error.message, vscode.l10n.t("no Python 3.10 or newer was found"));
      return;
    }
    const python = `Python ${interpreter.version}: ${[interpreter.command, ...interpreter.args].join(" ")} (${interpreter.origin})`;
    this.log.info(`Starting the server with ${python}`);
    const client = this.createClient(interpreter);
    try {
      await client.start();
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      await client.dispose().catch(() => undefined);
      this.report(
        vscode.l10n.t("The FirstFault server did not start with {0}. The log says why.", python),
        vscode.l10n.t("the server did not start"),
      );
      return;
    }
    this.client = client;
    this.status.running(python);
    this.starts.fire();
  }

  private createClient(interpreter: Interpreter): LanguageClient {
    const large = new LargeLogs(this.log);
    const options: LanguageClientOptions = {
      documentSelector: SELECTOR,
      diagnosticCollectionName: "firstfault",
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { trusted: vscode.workspace.isTrusted, maxSyncBytes: maxSyncBytes() } satisfies InitializationOptions,
      initializationFailedHandler: () => false,
      // The hovers of the server may link to pages, and run nothing else.
      markdown: { isTrusted: { enabledCommands: ["firstfault.explain"] } },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.onClosed(client);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      diagnosticPullOptions: { onChange: true, onSave: false, onTabs: false, filter: (document) => !wantsProblems(document) },
      middleware: {
        ...large.middleware(),
        handleDiagnostics: (uri, diagnostics, next) => {
          this.present(uri, diagnostics, next);
        },
      },
    };
    const client = new QuietClient(
      "firstfault",
      "FirstFault",
      {
        command: interpreter.command,
        // Isolated, so that a file of the user called regex.py cannot be imported; UTF-8, whatever the locale of the cluster says.
        args: [...interpreter.args, "-I", "-X", "utf8", path.join(this.folder, "server", "main.py")],
        transport: TransportKind.stdio,
        options: { cwd: this.folder },
      },
      options,
    );
    large.client = client;
    if (!previewsEdits()) client.registerFeature(new UnconfirmedEdits());
    client.onNotification(StatusNotification, (status) => {
      this.status.update(status);
    });
    client.onNotification(WatchedNotification, (watched) => {
      this.watched.fire(watched);
    });
    return client;
  }

  /** Called when the connection of a client is gone. A crashed server is started again; one that keeps crashing is told once and stays off. */
  private onClosed(client: LanguageClient): void {
    // One that never ran, or was asked to end, is not a crash.
    if (client !== this.client) return;
    const now = Date.now();
    this.crashes.push(now);
    while (this.crashes[0] !== undefined && now - this.crashes[0] > CRASH_WINDOW_MS) this.crashes.shift();
    const again = this.crashes.length < CRASHES_BEFORE_GIVING_UP;
    this.log.warn(again ? "The server ended by itself and is started again." : "The server keeps ending by itself.");
    void this.enqueue(async () => {
      if (client !== this.client) return;
      await this.shutdown();
      if (again) {
        await this.launch();
        return;
      }
      this.crashes.length = 0;
      this.told = false;
      this.report(
        vscode.l10n.t("The FirstFault server ended {0} times within three minutes and stays off. The log says why.", CRASHES_BEFORE_GIVING_UP),
        vscode.l10n.t("the server keeps ending"),
      );
    });
  }

  private async shutdown(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    try {
      await client.dispose(5_000);
    } catch (error) {
      this.log.warn(`The server did not end as asked: ${String(error)}`);
    }
  }

  /** Shows one message, once until the next explicit command; the log and the status item keep it. */
  private report(message: string, short: string): void {
    this.failure = message;
    this.log.error(message);
    this.status.failed(short);
    if (this.told) return;
    this.told = true;
    const settings = vscode.l10n.t("Open Settings");
    const logs = vscode.l10n.t("Show Logs");
    void vscode.window.showErrorMessage(message, settings, logs).then((choice) => {
      if (choice === settings) void vscode.commands.executeCommand("workbench.action.openSettings", "firstfault.interpreter");
      if (choice === logs) this.log.show();
    });
  }
}

/** Whether the person wants to confirm changes of files that are not open. */
function previewsEdits(): boolean {
  return vscode.workspace.getConfiguration("firstfault").get<boolean>("previewEdits", false);
}

/**
 * Hides from the server that the editor can ask before an edit: its preview opens with every change unticked, so that "Apply" does
 * nothing. A quick fix that was just chosen is made at once and left unsaved, in a tab that shows it.
 */
class UnconfirmedEdits implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    delete capabilities.workspace?.workspaceEdit?.changeAnnotationSupport;
  }

  initialize(): void {
    // Nothing depends on what the server can do.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // Nothing is held.
  }
}

/** The protocol library's client, which tells of trouble in the log only: what a person must know, the session says once. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}
