// Uses the language-model tool as an agent would. The request and the answer are files of the workspace, where the test reads and writes them.
const vscode = require("vscode");

exports.activate = (context) => {
  context.subscriptions.push(
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
