// The folder of downloads that several checkouts share. Knows nothing of what is kept there.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** Where downloads live: FIRSTFAULT_DEVELOPMENT_CACHE, else ~/.cache/firstfault-development (the engine keeps its own, small cache elsewhere). */
export function cacheFolder() {
  return process.env.FIRSTFAULT_DEVELOPMENT_CACHE || path.join(os.homedir(), ".cache", "firstfault-development");
}

/** Runs `fill` in an empty folder unless an earlier run finished there; a half-done folder is thrown away. */
export function once(folder, fill) {
  const done = path.join(folder, ".complete");
  if (existsSync(done)) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  fill();
  writeFileSync(done, "");
}
