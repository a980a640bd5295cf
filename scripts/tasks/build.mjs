// npm run build: the client, bundled into extension/dist.
import { prepareNodePackages } from "../node-packages.mjs";

export default async function build() {
  prepareNodePackages();
  const { buildClient } = await import("../client-build.mjs");
  await buildClient();
}
