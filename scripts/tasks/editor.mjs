// npm run editor: packs the extension and runs the tests in a real VS Code; arguments choose among them by file name.
// npm run editor -- --pictures: afterwards takes the pictures of the README from them.
import { bundle, ownTarget } from "../bundle.mjs";
import { editorTestObstacle, runEditorTest } from "../editor-test.mjs";
import { prepareNodePackages } from "../node-packages.mjs";
import { takePictures } from "../pictures.mjs";
import { TaskError } from "../process.mjs";
import { preparePython } from "../python.mjs";

export default async function editor(args) {
  const obstacle = editorTestObstacle();
  if (obstacle !== undefined) throw new TaskError(obstacle);
  const python = preparePython(["server", "dev"]);
  prepareNodePackages();
  const { buildClient } = await import("../client-build.mjs");
  const { packVsix } = await import("../vsix.mjs");
  await buildClient({ minify: true });
  bundle(python, ownTarget());
  runEditorTest(python, packVsix(ownTarget()), args.filter((arg) => arg !== "--pictures"));
  if (args.includes("--pictures")) takePictures();
}
