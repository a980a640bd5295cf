// The language-model tool as an agent in the editor uses it. A small extension calls it, since no model is at hand.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { inEditor } from "./sitting.mjs";

const probe = path.join(path.dirname(fileURLToPath(import.meta.url)), "probe");

inEditor("agents", { probe, settings: { "chat.disableAIFeatures": false } }, (sitting, step) => {
  step("an agent gets a report with its grade, for a path and for a text", async () => {
    const { job, workbench, page } = sitting;
    const ask = async (input) => {
      rmSync(path.join(job, "answer.txt"), { force: true });
      writeFileSync(path.join(job, "request.json"), JSON.stringify(input));
      await workbench.command("Probe: Use Tool");
      for (let i = 0; i < 150 && !existsSync(path.join(job, "answer.txt")); i++) await page.waitForTimeout(200);
      await page.waitForTimeout(200);
      return readFileSync(path.join(job, "answer.txt"), "utf8");
    };
    assert.match(await ask({ path: "killed-rank.log" }), /killed-rank\.log:\d+/);
    const byText = await ask({ text: readFileSync(path.join(job, "bad-row.log"), "utf8") });
    assert.match(byText, /Rank 3 .*KeyError/);
    assert.match(byText, /Verdict \| established/);
    assert.match(await ask({ path: "no-such.log" }), /no-such\.log/);
    assert.match(await ask({}), /Nothing to diagnose/);
  });
});
