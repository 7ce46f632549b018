import { lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { FileNotFound, ScopeRefusal } from "../../src/store/scope/scope-refusal.ts";
import { scopeTeam } from "./scope-team.ts";

const READS = 20_000;

test("while a folder is swapped with a link to secrets, 20,000 reads leak nothing, where looking first would leak", async () => {
  await using team = await scopeTeam();
  const scratch = join(team.runDir, "nodes/node-1/scratch");
  mkdirSync(join(scratch, "swap"));
  writeFileSync(join(scratch, "swap/file.md"), "mine");
  mkdirSync(join(team.base, "secrets"));
  writeFileSync(join(team.base, "secrets/file.md"), "SECRET");
  await using _swapper = await swapper(scratch, join(team.base, "secrets"));

  const naive = tally();
  for (let i = 0; i < READS * 10 && naive.SECRET === 0; i++) naive.note(() => lookThenRead(scratch));
  const walked = tally();
  for (let i = 0; i < READS; i++) walked.note(() => readByWalking(() => team.alice.openFile("scratch/swap/file.md")));

  expect(naive.SECRET).toBeGreaterThan(0);
  expect(walked.SECRET).toBe(0);
  expect(walked.mine).toBeGreaterThan(0);
  expect(walked.refused).toBeGreaterThan(0);
  expect(walked.mine + walked.refused).toBe(READS);
}, 30_000);

test("while a folder is swapped with a link, no write lands where the link leads", async () => {
  await using team = await scopeTeam();
  const scratch = join(team.runDir, "nodes/node-1/scratch");
  mkdirSync(join(scratch, "swap"));
  mkdirSync(join(team.base, "secrets"));
  writeFileSync(join(team.base, "secrets/file.md"), "SECRET");
  await using _swapper = await swapper(scratch, join(team.base, "secrets"));

  let landed = 0;
  for (let i = 0; i < 1000; i++) {
    const wrote = await team.alice.writeFile("scratch/swap/file.md", `${i}`).then(() => true, onlyRefusals);
    landed += wrote ? 1 : 0;
  }

  expect(landed).toBeGreaterThan(0);
  expect(readFileSync(join(team.base, "secrets/file.md"), "utf8")).toBe("SECRET");
}, 30_000);

/** Another thread that turns `swap` into a link to the secrets and back, as fast as it can, until it is disposed. */
async function swapper(scratch: string, secrets: string): Promise<AsyncDisposable> {
  // Whoever writes may make the folder anew while it is away; the swapper then takes that one.
  const code = `
    const { renameSync, rmSync, symlinkSync, unlinkSync } = require("node:fs");
    const { parentPort, workerData } = require("node:worker_threads");
    const { swap, aside, secrets, stop } = workerData;
    const flag = new Int32Array(stop);
    const attempt = (step) => { try { step(); return true; } catch { return false; } };
    // So that readers meet the real folder as often as the link.
    const linger = () => { for (let i = 0; i < 1000; i++) Atomics.load(flag, 0); };
    parentPort.postMessage("ready");
    while (!Atomics.load(flag, 0)) {
      attempt(() => renameSync(swap, aside));
      attempt(() => symlinkSync(secrets, swap));
      attempt(() => unlinkSync(swap));
      attempt(() => renameSync(aside, swap)) || attempt(() => rmSync(aside, { recursive: true, force: true }));
      linger();
    }`;
  const stop = new SharedArrayBuffer(4);
  const thread = new Worker(code, {
    eval: true,
    workerData: { swap: join(scratch, "swap"), aside: join(scratch, "aside"), secrets, stop },
  });
  const ended = new Promise((resolve) => thread.once("exit", resolve));
  await new Promise((resolve) => thread.once("message", resolve));
  return {
    async [Symbol.asyncDispose]() {
      Atomics.store(new Int32Array(stop), 0, 1);
      await ended;
    },
  };
}

/** What one would write without thinking: judge every part of the path, then read the whole of it. */
function lookThenRead(scratch: string): string {
  if (lstatSync(join(scratch, "swap")).isSymbolicLink()) throw new ScopeRefusal("unsafe", "a link");
  if (!lstatSync(join(scratch, "swap/file.md")).isFile()) throw new ScopeRefusal("unsafe", "no file");
  return readFileSync(join(scratch, "swap/file.md"), "utf8");
}

function readByWalking(open: () => { fd: number; close(): void }): string {
  const file = open();
  try {
    return readFileSync(file.fd, "utf8");
  } finally {
    file.close();
  }
}

function tally() {
  const counts = { mine: 0, SECRET: 0, refused: 0 };
  return Object.assign(counts, {
    note(read: () => string) {
      try {
        counts[read() === "mine" ? "mine" : "SECRET"] += 1;
      } catch (error) {
        if (!isMissing(error)) onlyRefusals(error);
        counts.refused += 1;
      }
    },
  });
}

function onlyRefusals(error: unknown): false {
  if (error instanceof ScopeRefusal || error instanceof FileNotFound) return false;
  throw error;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
