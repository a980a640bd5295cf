// Puts the server's Python packages into server/bundled, so that a plain Python can run it. Knows no VSIX.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { cacheFolder, once } from "./cache.mjs";
import { ROOT, run, TaskError } from "./process.mjs";

const BUNDLED = path.join(ROOT, "server", "bundled");
const PURE_LOCK = path.join(ROOT, "scripts", "bundled-pure.txt");
const BINARY_LOCK = path.join(ROOT, "scripts", "bundled-binary.txt");

/** The Pythons that get binaries; on any other one the engine runs without them, slower. */
const PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"];

/** The platform tags of wheels, oldest system first, by the name VS Code has for a platform. */
const PLATFORMS = {
  "linux-x64": ["manylinux_2_17_x86_64", "manylinux_2_28_x86_64"],
  "linux-arm64": ["manylinux_2_17_aarch64", "manylinux_2_28_aarch64"],
  "alpine-x64": ["musllinux_1_2_x86_64"],
  "alpine-arm64": ["musllinux_1_2_aarch64"],
  "darwin-x64": ["macosx_10_9_x86_64", "macosx_10_15_x86_64"],
  "darwin-arm64": ["macosx_11_0_arm64"],
  "win32-x64": ["win_amd64"],
};

/** Every target a VSIX can be made for; `universal` carries no binaries and runs everywhere. */
export const TARGETS = [...Object.keys(PLATFORMS), "universal"];

/** The target of this machine. */
export function ownTarget() {
  const target = `${process.platform}-${process.arch}`;
  return target in PLATFORMS ? target : "universal";
}

/** Fills a folder, server/bundled, for a target. `python` has pip; the wheels are checked against the lock files and kept in the cache. */
export function bundle(python, target, into = BUNDLED) {
  if (!TARGETS.includes(target)) throw new TaskError(`there is no target ${target}\n  help: one of ${TARGETS.join(", ")}`);
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  const folders = [wheels(python, "pure", PURE_LOCK, [["3.10", ["any"]]])];
  if (target !== "universal") folders.push(wheels(python, target, BINARY_LOCK, PYTHONS.map((version) => [version, PLATFORMS[target]])));
  for (const folder of folders) {
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".whl"))) {
      run(python, ["-m", "zipfile", "-e", path.join(folder, file), into], { label: `unpacking ${file}` });
    }
  }
  prune(into);
}

/** Writes both lock files anew from the versions they name: a hash for every wheel of every target. */
export function writeLocks(python) {
  writeLock(python, PURE_LOCK, [["3.10", ["any"]]]);
  writeLock(python, BINARY_LOCK, Object.values(PLATFORMS).flatMap((tags) => PYTHONS.map((version) => [version, tags])));
}

/** The folder in the cache that holds the wheels of a lock file for some [Python version, platform tags]. */
function wheels(python, name, lock, wanted) {
  const hash = createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 16);
  const folder = path.join(cacheFolder(), "wheels", `${name}-${hash}`);
  once(folder, () => {
    process.stdout.write(`downloading the ${name} wheels\n`);
    for (const [version, tags] of wanted) download(python, folder, version, tags, ["--require-hashes", "-r", lock]);
  });
  return folder;
}

function download(python, folder, version, tags, what) {
  const platforms = tags.flatMap((tag) => ["--platform", tag]);
  const fixed = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
  run(python, [...fixed, "--implementation", tags[0] === "any" ? "py" : "cp", "--python-version", version, ...platforms, "--dest", folder, ...what], { label: "pip download" });
}

function writeLock(python, lock, wanted) {
  const lines = readFileSync(lock, "utf8").split("\n");
  const heading = lines.filter((line) => line.startsWith("#"));
  const names = lines.map((line) => /^[\w.-]+==[\w.]+/.exec(line)?.[0]).filter(Boolean);
  const folder = path.join(os.tmpdir(), `firstfault-lock-${process.pid}`);
  const out = [...heading];
  for (const name of names) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [version, tags] of wanted) download(python, folder, version, tags, [name]);
    const hashes = readdirSync(folder).map((file) => createHash("sha256").update(readFileSync(path.join(folder, file))).digest("hex"));
    out.push(`${name} \\`, hashes.sort().map((hash) => `    --hash=sha256:${hash}`).join(" \\\n"));
  }
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(lock, out.join("\n") + "\n");
}

/** Takes away what a running server never reads; licences and the metadata that names versions stay. */
function prune(bundled) {
  for (const entry of readdirSync(bundled, { recursive: true, withFileTypes: true })) {
    const place = path.join(entry.parentPath ?? entry.path, entry.name);
    const inside = path.relative(bundled, place).split(path.sep);
    const unused =
      /\.(pyi|c|pyx)$|^py\.typed$/.test(entry.name) ||
      (entry.isDirectory() && (/^(tests|__pycache__|bin)$/.test(entry.name) || inside[0].endsWith(".data"))) ||
      (inside[0].endsWith(".dist-info") && /^(RECORD|WHEEL|top_level\.txt|entry_points\.txt|INSTALLER)$/.test(entry.name));
    if (unused) rmSync(place, { recursive: true, force: true });
  }
}
