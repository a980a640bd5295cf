// Shows lines of files that are too large for an editor, as read-only documents around the lines that matter. Knows no failure.
import * as vscode from "vscode";

import { EXCERPT_SCHEME } from "./documents";
import { numbersOf, partsAround, positionOf, read, written, type Part } from "./excerpt-parts";
import { ExcerptRequest } from "./protocol";
import type { Session } from "./session";

/** Problems of large files are shown at an excerpt, since a click on a problem of the file itself would open nothing. */
export class Excerpts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly shown = new Map<string, vscode.Uri>();
  private readonly turns = new Map<string, Promise<void>>();
  private readonly numbers = vscode.window.createTextEditorDecorationType({
    before: { color: new vscode.ThemeColor("editorLineNumber.foreground"), margin: "0 1.5em 0 0" },
  });
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly session: Session) {
    this.subscriptions = [
      this.numbers,
      vscode.workspace.registerTextDocumentContentProvider(EXCERPT_SCHEME, this),
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        for (const editor of editors) this.number(editor);
      }),
    ];
  }

  /** The lines of an excerpt, a line between two parts that do not touch. Which lines they are is in the address. */
  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const lines: string[] = [];
    for (const [index, part] of partsOf(uri).entries()) {
      if (index > 0) lines.push(gap(partsOf(uri), index));
      const half = Math.ceil((part.last - part.first) / 2);
      const found = await this.session.request(ExcerptRequest, { path: uri.fsPath, line: part.first + half, context: half });
      lines.push(...found.lines.slice(part.first - found.first, part.last - found.first + 1));
    }
    return lines.join("\n");
  }

  /** Shows a line of a file through an excerpt if the file is too large for an editor; false if it is not. */
  async showIfLarge(uri: vscode.Uri, range: vscode.Range, viewColumn: vscode.ViewColumn): Promise<boolean> {
    if (!(await isTooLarge(uri))) return false;
    const known = this.shown.get(uri.toString());
    const excerpt = known !== undefined && moved(partsOf(known), range) !== undefined ? known : addressOf(uri, partsAround([range.start.line + 1]));
    const parts = partsOf(excerpt);
    const document = await vscode.workspace.openTextDocument(excerpt);
    await vscode.window.showTextDocument(document, { viewColumn, selection: moved(parts, range) ?? range });
    return true;
  }

  /** Passes the problems of a file on to `next`, at an excerpt if the file is too large for an editor. */
  handleDiagnostics(uri: vscode.Uri, diagnostics: vscode.Diagnostic[], next: (uri: vscode.Uri, diagnostics: vscode.Diagnostic[]) => void): void {
    const key = uri.toString();
    const turn = (this.turns.get(key) ?? Promise.resolve()).then(async () => {
      const before = this.shown.get(key);
      const large = diagnostics.length > 0 && (await isTooLarge(uri));
      const excerpt = large ? addressOf(uri, partsAround(linesOf(diagnostics))) : undefined;
      if (before !== undefined && before.toString() !== excerpt?.toString()) next(before, []);
      if (excerpt === undefined) {
        this.shown.delete(key);
        next(uri, diagnostics);
        return;
      }
      this.shown.set(key, excerpt);
      next(excerpt, placed(uri, excerpt, diagnostics));
    });
    this.turns.set(key, turn);
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** Gives the lines of an excerpt the numbers that they have in the file. */
  private number(editor: vscode.TextEditor): void {
    const { document } = editor;
    if (document.uri.scheme !== EXCERPT_SCHEME) return;
    editor.options.lineNumbers = vscode.TextEditorLineNumbersStyle.Off;
    const numbers = numbersOf(partsOf(document.uri)).slice(0, document.lineCount);
    const width = String(numbers.at(-1) ?? 0).length;
    editor.setDecorations(
      this.numbers,
      numbers.map((number, line) => ({
        range: new vscode.Range(line, 0, line, 0),
        // Figure spaces keep the numbers in a column; plain ones would be dropped.
        renderOptions: { before: { contentText: (number === undefined ? "" : String(number)).padStart(width, "\u2007") } },
      })),
    );
  }
}

async function isTooLarge(uri: vscode.Uri): Promise<boolean> {
  if (uri.scheme !== "file") return false;
  const limit = vscode.workspace.getConfiguration("firstfault", uri).get<number>("excerptMegabytes", 50) * 1024 * 1024;
  try {
    return (await vscode.workspace.fs.stat(uri)).size > limit;
  } catch {
    return false;
  }
}

/** The 1-based lines of problems that a person reads; hints, which no list shows, come along where they lie near. */
function linesOf(diagnostics: readonly vscode.Diagnostic[]): number[] {
  const read = diagnostics.filter((diagnostic) => diagnostic.severity !== vscode.DiagnosticSeverity.Hint);
  return (read.length > 0 ? read : diagnostics).map((diagnostic) => diagnostic.range.start.line + 1);
}

function addressOf(file: vscode.Uri, parts: readonly Part[]): vscode.Uri {
  return file.with({ scheme: EXCERPT_SCHEME, query: written(parts) });
}

function partsOf(excerpt: vscode.Uri): Part[] {
  return read(excerpt.query);
}

/** What stands between a part and the one before it. */
function gap(parts: readonly Part[], index: number): string {
  const [before, part] = [parts[index - 1], parts[index]];
  if (before === undefined || part === undefined) return "";
  return part.first > before.last + 1 ? vscode.l10n.t("… lines {0} to {1} are not shown …", before.last + 1, part.first - 1) : "";
}

/** A range of the file as a range of its excerpt, if the excerpt has its beginning. */
function moved(parts: readonly Part[], range: vscode.Range): vscode.Range | undefined {
  const start = positionOf(parts, range.start.line + 1);
  if (start === undefined) return undefined;
  return new vscode.Range(start, range.start.character, positionOf(parts, range.end.line + 1) ?? start, range.end.character);
}

function placed(file: vscode.Uri, excerpt: vscode.Uri, diagnostics: readonly vscode.Diagnostic[]): vscode.Diagnostic[] {
  const parts = partsOf(excerpt);
  const moving = new Map(diagnostics.map((diagnostic) => [diagnostic, moved(parts, diagnostic.range)]));
  return diagnostics.flatMap((diagnostic) => {
    const range = moving.get(diagnostic);
    if (range === undefined) return [];
    diagnostic.range = range;
    diagnostic.relatedInformation = (diagnostic.relatedInformation ?? []).map((related) => {
      const place = related.location.uri.toString() === file.toString() ? related.location.range : undefined;
      if (place === undefined) return related;
      const own = moved(parts, place) === undefined ? addressOf(file, partsAround([place.start.line + 1])) : excerpt;
      return new vscode.DiagnosticRelatedInformation(new vscode.Location(own, moved(partsOf(own), place) ?? place), related.message);
    });
    return [diagnostic];
  });
}
