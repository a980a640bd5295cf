// Runs named steps one after the other, all of them, and says at the end which failed. Knows no step.
import { heading, TaskError } from "./process.mjs";

/** Runs [name, function] pairs; returns the exit status for the task: 0 when every one passed. */
export async function runSteps(steps) {
  const lines = [];
  let failed = 0;
  for (const [name, step] of steps) {
    heading(name);
    const began = Date.now();
    try {
      await step();
      lines.push(`  passed  ${name} (${seconds(began)} s)`);
    } catch (error) {
      if (!(error instanceof TaskError)) console.error(error);
      failed++;
      lines.push(`  FAILED  ${name} (${seconds(began)} s): ${error.message}`);
    }
  }
  heading(failed ? `${failed} of ${steps.length} steps failed` : `all ${steps.length} steps passed`);
  process.stdout.write(`${lines.join("\n")}\n`);
  return failed ? 1 : 0;
}

function seconds(began) {
  return ((Date.now() - began) / 1000).toFixed(1);
}
