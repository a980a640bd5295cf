// Shows lines of files that are too large for an editor, as read-only documents around the lines that matter. Knows no failure.
import * as vscode from "vscode";

import { EXCERPT_SCHEME } from "./documents";
import { ExcerptRequest } from "./protocol";
import type { Session } from "./session";

const CONTEXT_LINES = 200;
/** The server gives this many lines at once, and a document has this many parts at most. */
const MOST_LINES = 2_000;
const MOST_PARTS = 12;

/** Lines `first` to `last` of a file, 1-based. */
interface Part {
  first: number;
  last: number;
}

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
    const excerpt = known !== undefined && contains(partsOf(known), range.start.line) ? known : addressOf(uri, partsAround([range.start.line]));
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

/** The 0-based lines of problems that a person reads; hints, which no list shows, come along where they lie near. */
function linesOf(diagnostics: readonly vscode.Diagnostic[]): number[] {
  const read = diagnostics.filter((diagnostic) => diagnostic.severity !== vscode.DiagnosticSeverity.Hint);
  return (read.length > 0 ? read : diagnostics).map((diagnostic) => diagnostic.range.start.line);
}

/** The parts of a file around 0-based lines, in order; parts that touch are one, up to what the server gives at once. */
function partsAround(lines: readonly number[]): Part[] {
  const parts: Part[] = [];
  for (const line of [...lines].sort((a, b) => a - b)) {
    const [first, last] = [Math.max(1, line + 1 - CONTEXT_LINES), line + 1 + CONTEXT_LINES];
    const before = parts.at(-1);
    if (before === undefined || first > before.last + 1) {
      if (parts.length < MOST_PARTS) parts.push({ first, last });
    } else if (last - before.first < MOST_LINES) {
      before.last = last;
    } else if (parts.length < MOST_PARTS && line + 1 > before.last) {
      parts.push({ first: before.last + 1, last });
    }
  }
  return parts;
}

function addressOf(file: vscode.Uri, parts: readonly Part[]): vscode.Uri {
  return file.with({ scheme: EXCERPT_SCHEME, query: parts.map(({ first, last }) => `${first}-${last}`).join(",") });
}

function partsOf(excerpt: vscode.Uri): Part[] {
  return [...excerpt.query.matchAll(/(\d+)-(\d+)/g)].map(([, first, last]) => ({ first: Number(first), last: Number(last) }));
}

function contains(parts: readonly Part[], line: number): boolean {
  return parts.some(({ first, last }) => line + 1 >= first && line + 1 <= last);
}

/** The number in the file of each line of an excerpt; none for a line between parts. */
function numbersOf(parts: readonly Part[]): (number | undefined)[] {
  return parts.flatMap(({ first, last }, index) => {
    const numbers = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    return index > 0 ? [undefined, ...numbers] : numbers;
  });
}

/** What stands between a part and the one before it. */
function gap(parts: readonly Part[], index: number): string {
  const [before, part] = [parts[index - 1], parts[index]];
  if (before === undefined || part === undefined) return "";
  return part.first > before.last + 1 ? vscode.l10n.t("… lines {0} to {1} are not shown …", before.last + 1, part.first - 1) : "";
}

/** A range of the file as a range of its excerpt, if the excerpt has it. */
function moved(parts: readonly Part[], range: vscode.Range): vscode.Range | undefined {
  let start = 0;
  for (const [index, { first, last }] of parts.entries()) {
    if (index > 0) start++;
    const by = start - (first - 1);
    if (range.start.line + 1 >= first && range.start.line + 1 <= last) {
      return new vscode.Range(range.start.line + by, range.start.character, Math.min(range.end.line, last - 1) + by, range.end.character);
    }
    start += last - first + 1;
  }
  return undefined;
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
      const own = contains(parts, place.start.line) ? excerpt : addressOf(file, partsAround([place.start.line]));
      return new vscode.DiagnosticRelatedInformation(new vscode.Location(own, moved(partsOf(own), place) ?? place), related.message);
    });
    return [diagnostic];
  });
}
