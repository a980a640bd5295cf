// The parts of the client that need no editor.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const SOURCE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "extension", "src");

async function load(name) {
  const { outputFiles } = await build({ entryPoints: [path.join(SOURCE, `${name}.ts`)], bundle: true, write: false, format: "esm", platform: "node" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const { startsTraining } = await load("launchers");
const { numbersOf, partsAround, positionOf, read, written } = await load("excerpt-parts");

for (const command of [
  "torchrun --nproc-per-node 8 train.py",
  "NCCL_DEBUG=INFO /opt/venv/bin/torchrun train.py 2>&1 | tee run.log",
  "cd /job && deepspeed --num_gpus 8 train.py",
  "accelerate launch train.py",
  "srun -N 2 python train.py",
  "sbatch --wait job.sbatch",
  "sbatch -p gpu -W job.sbatch",
  "python -m torch.distributed.run train.py",
  "python3.11 -u -m torch.distributed.launch train.py",
  "mpirun -np 8 python train.py",
  "ray job submit -- python train.py",
]) {
  test(`starts training: ${command}`, () => assert.ok(startsTraining(command)));
}

for (const command of [
  "sbatch job.sbatch",
  "accelerate config",
  "python train.py",
  "cat torchrun.log",
  "grep torchrun notes.txt",
  "pip install deepspeed",
  "which srun",
  "mysrun x",
  "ray status",
  "pytest tests/test_torchrun.py",
]) {
  test(`starts no training: ${command}`, () => assert.ok(!startsTraining(command)));
}

test("every line of an excerpt has the number under which it is found, whatever lines it was made around", () => {
  for (const lines of [[1], [5, 7], [1, 401, 402], [1000, 5000], [10, 20, 30000, 29000], Array.from({ length: 40 }, (_, i) => 1 + i * 150), Array.from({ length: 40 }, (_, i) => 1 + i * 900)]) {
    const parts = read(written(partsAround(lines)));
    assert.ok(parts.length <= 12);
    for (const { first, last } of parts) assert.ok(first >= 1 && last - first < 2000, "the server gives a part at once");
    numbersOf(parts).forEach((number, position) => number !== undefined && assert.equal(positionOf(parts, number), position));
    assert.notEqual(positionOf(parts, Math.min(...lines)), undefined);
  }
});

test("lines near each other share a part, and a line that is not there has no place", () => {
  assert.deepEqual(partsAround([700, 300]), [{ first: 100, last: 900 }]);
  assert.deepEqual(partsAround([300, 1000]), [{ first: 100, last: 500 }, { first: 800, last: 1200 }]);
  assert.equal(positionOf(partsAround([300, 1000]), 600), undefined);
});
