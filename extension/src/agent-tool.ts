// The language-model tool: a text or a path in, the report out, for agents in the editor. Knows no failure and no model.
import path from "node:path";
import * as vscode from "vscode";

import type { Content } from "./documents";
import { DiagnoseRequest } from "./protocol";
import type { Session } from "./session";
import { explained } from "./trouble";

const NAME = "firstfault_diagnose";
/** A model's context is dear; a report rarely comes near this. */
const MOST_CHARACTERS = 24_000;

interface Input {
  text?: string;
  path?: string;
}

/** The parts of the editor's interface for tools that are used here; it is newer than the oldest supported editor. */
interface ToolHost {
  lm?: { registerTool?: (name: string, tool: object) => vscode.Disposable };
  LanguageModelToolResult?: new (parts: object[]) => object;
  LanguageModelTextPart?: new (text: string) => object;
}

/** Registers the tool where the editor knows tools; undefined where it does not, or the tool is switched off. */
export function registerAgentTool(session: Session): vscode.Disposable | undefined {
  const { lm, LanguageModelToolResult: Result, LanguageModelTextPart: Text } = vscode as unknown as ToolHost;
  if (lm?.registerTool === undefined || Result === undefined || Text === undefined) return undefined;
  return lm.registerTool(NAME, {
    prepareInvocation: ({ input }: { input: Input }) => preparation(input),
    invoke: async ({ input }: { input: Input }, token: vscode.CancellationToken) => new Result([new Text(await answer(session, input, token))]),
  });
}

/** What the person sees before the tool runs; a path outside the workspace needs a yes. */
function preparation(input: Input): object {
  if (input.path === undefined) return { invocationMessage: vscode.l10n.t("Diagnosing a log excerpt with FirstFault") };
  const file = absolute(input.path);
  const invocationMessage = vscode.l10n.t("Diagnosing {0} with FirstFault", path.basename(file));
  if (vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file)) !== undefined) return { invocationMessage };
  const message = vscode.l10n.t("The path is outside the workspace: {0}", file);
  return { invocationMessage, confirmationMessages: { title: vscode.l10n.t("Diagnose with FirstFault"), message } };
}

/** The report as Markdown with its grades, or why there is none. Errors are for the model too, so they are answers. */
async function answer(session: Session, input: Input, token: vscode.CancellationToken): Promise<string> {
  if (!vscode.workspace.getConfiguration("firstfault").get<boolean>("agentTool", true)) return "The FirstFault tool is switched off by the setting firstfault.agentTool.";
  let content: Content;
  if (input.path !== undefined && input.path !== "") {
    if (!vscode.workspace.isTrusted) return "FirstFault reads no paths in a workspace that is not trusted. Pass the text of the log instead.";
    content = { path: absolute(input.path) };
  } else if (input.text !== undefined && input.text.trim() !== "") {
    content = { text: input.text, title: "text" };
  } else {
    return "Nothing to diagnose: pass the text of a log, or the path of a log or of a folder of logs.";
  }
  try {
    const { markdown } = await session.request(DiagnoseRequest, content, token);
    return markdown.length > MOST_CHARACTERS ? `${markdown.slice(0, MOST_CHARACTERS)}\n\n(The report goes on; it was cut here.)` : markdown;
  } catch (error) {
    return explained(error);
  }
}

function absolute(given: string): string {
  return path.resolve(vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "/", given);
}
