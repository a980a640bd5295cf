// Facts about package.json, its texts and what a VSIX carries. Needs no editor.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
const texts = JSON.parse(readFileSync(path.join(ROOT, "package.nls.json"), "utf8"));
const source = readdirSync(path.join(ROOT, "extension", "src"))
  .map((file) => readFileSync(path.join(ROOT, "extension", "src", file), "utf8"))
  .join("\n");

test("every text that the manifest names exists, and no text is left over", () => {
  const named = new Set([...JSON.stringify(manifest).matchAll(/%([\w.]+)%/g)].map((match) => match[1]));
  assert.deepEqual([...named].sort(), Object.keys(texts).sort());
});

test("every command of the manifest is registered, in the one category", () => {
  for (const { command, category } of manifest.contributes.commands) {
    assert.ok(source.includes(`"${command}"`), command);
    assert.equal(category, "FirstFault");
  }
});

test("menus and keys name commands that exist", () => {
  const commands = new Set(manifest.contributes.commands.map(({ command }) => command));
  const used = [...Object.values(manifest.contributes.menus).flat(), ...manifest.contributes.keybindings].map(({ command }) => command);
  for (const command of used) assert.ok(commands.has(command), command);
});

test("the tool for agents is the one that is registered, and says how to be used", () => {
  const [tool, ...others] = manifest.contributes.languageModelTools;
  assert.deepEqual(others, []);
  assert.ok(source.includes(`"${tool.name}"`));
  assert.deepEqual(Object.keys(tool.inputSchema.properties).sort(), ["path", "text"]);
  assert.match(tool.modelDescription, /established, probable or undetermined/);
});

test("every sample that the walkthrough names is shipped and can be opened", () => {
  const named = [...JSON.stringify(texts).matchAll(/openSample\?%5B%22([\w.-]+)%22%5D/g)].map(([, name]) => name);
  assert.equal(named.length, 3);
  for (const name of named) assert.ok(existsSync(path.join(ROOT, "samples", name)) && source.includes(`"${name}"`), name);
});

test("every setting has a description with Markdown, and the client reads it or the protocol library does", () => {
  for (const [name, setting] of Object.entries(manifest.contributes.configuration.properties)) {
    assert.match(setting.markdownDescription, /^%[\w.]+%$/, name);
    const key = name.replace("firstfault.", "");
    assert.ok(source.includes(`"${key}"`) || key === "trace.server", name);
  }
});

test("the types are those of the oldest supported editor, so that no newer or proposed interface is used by accident", () => {
  assert.equal(manifest.engines.vscode, "^1.93.0");
  assert.equal(manifest.devDependencies["@types/vscode"], "1.93.0");
  assert.equal(manifest.enabledApiProposals, undefined);
  assert.equal(manifest.extensionDependencies, undefined);
});

test("every dependency is pinned, and the lock file names no place to download from", () => {
  for (const [name, version] of Object.entries(manifest.devDependencies)) assert.match(version, /^\d+\.\d+\.\d+$/, name);
  assert.equal(manifest.dependencies, undefined);
  assert.doesNotMatch(readFileSync(path.join(ROOT, "package-lock.json"), "utf8"), /"resolved"/);
});

test("the versions of the extension and of the Python package are the same", () => {
  assert.ok(readFileSync(path.join(ROOT, "server", "firstfault", "__init__.py"), "utf8").includes(`"${manifest.version}"`));
});

test("the icon is a PNG of 128 by 128", () => {
  const png = readFileSync(path.join(ROOT, manifest.icon));
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [128, 128]);
});

test("nothing in the client sends anything anywhere", () => {
  assert.doesNotMatch(source, /\bfetch\(|node:https?|node:net\b|TelemetryLogger|createTelemetryLogger|env\.openExternal/);
});

test("a VSIX carries exactly what it needs", () => {
  const vsce = createRequire(path.join(ROOT, "package.json")).resolve("@vscode/vsce/vsce");
  const listed = execFileSync(process.execPath, [vsce, "ls", "--no-dependencies"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
  const expected = [
    /^(package\.json|package\.nls\.json|README\.md|CHANGELOG\.md|LICENSE)$/,
    /^extension\/(icon\.png|dist\/main\.js|walkthrough\/(open|diagnose|terminal)\.md|images\/[\w-]+\.png)$/,
    /^syntaxes\/firstfault\.injection\.tmLanguage\.json$/,
    /^samples\/([\w-]+\.log|train\.sh)$/,
    /^server\/main\.py$/,
    /^server\/firstfault\/([\w-]+\/)*[\w-]+\.(py|md|toml|json|typed)$/,
    /^server\/firstfault\/render\/assets\/[\w-]+\.(css|js)$/,
    /^server\/bundled\/(attr|attrs|cattr|cattrs|exceptiongroup|hyperscan|lsprotocol|markdown_it|mdurl|pygls|regex|ruamel|tomli)\/([\w-]+\/)*[\w.-]+\.(py|so|pyd|typed|toml|json|txt|md|html|LICENSE)$/,
    /^server\/bundled\/typing_extensions\.py$/,
    /^server\/bundled\/[\w.]+-[\d.]+\.dist-info\/(METADATA|licenses\/[\w.-]+|LICENSE[\w.]*)$/,
  ];
  const strangers = listed.filter((file) => !expected.some((pattern) => pattern.test(file)));
  assert.deepEqual(strangers, []);
  for (const asset of readdirSync(path.join(ROOT, "server", "firstfault", "render", "assets"))) assert.ok(listed.includes(`server/firstfault/render/assets/${asset}`), asset);
  for (const file of ["package.json", "extension/icon.png", "syntaxes/firstfault.injection.tmLanguage.json", "server/main.py", "samples/stuck-rank.log"]) {
    assert.ok(listed.includes(file), file);
  }
  if (existsSync(path.join(ROOT, "server", "bundled"))) assert.ok(listed.some((file) => file.startsWith("server/bundled/pygls/")));
});
