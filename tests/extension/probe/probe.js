// What a test needs of a second extension: an agent that uses the language-model tool, and files that lie on no disk.
// The request and the answer of the agent are files of the workspace, where the test reads and writes them.
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

/** Shows a folder of the disk as elsewhere:/, which only the editor can read. */
class Elsewhere {
  onDidChangeFile = new vscode.EventEmitter().event;
  #place = (uri) => path.join(process.env.FIRSTFAULT_PROBE_FOLDER, uri.path);
  watch = () => new vscode.Disposable(() => undefined);
  stat = (uri) => {
    if (!fs.existsSync(this.#place(uri))) throw vscode.FileSystemError.FileNotFound(uri);
    const found = fs.statSync(this.#place(uri));
    return { type: found.isDirectory() ? vscode.FileType.Directory : vscode.FileType.File, ctime: found.ctimeMs, mtime: found.mtimeMs, size: found.size };
  };
  readDirectory = (uri) => fs.readdirSync(this.#place(uri), { withFileTypes: true }).map((entry) => [entry.name, entry.isDirectory() ? vscode.FileType.Directory : vscode.FileType.File]);
  readFile = (uri) => fs.readFileSync(this.#place(uri));
}
for (const change of ["createDirectory", "delete", "rename", "writeFile"]) {
  Elsewhere.prototype[change] = (uri) => {
    throw vscode.FileSystemError.NoPermissions(uri);
  };
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider("elsewhere", new Elsewhere()),
    vscode.commands.registerCommand("probe.useTool", async () => {
      const [{ uri }] = vscode.workspace.workspaceFolders;
      const input = JSON.parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(uri, "request.json"))));
      let text;
      try {
        const result = await vscode.lm.invokeTool("firstfault_diagnose", { input, toolInvocationToken: undefined });
        text = result.content.map((part) => part.value).join("");
      } catch (error) {
        text = `the tool failed: ${error}`;
      }
      await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(uri, "answer.txt"), new TextEncoder().encode(text));
    }),
  );
};
