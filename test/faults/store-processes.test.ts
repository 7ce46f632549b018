import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { replaceFile } from "../../src/store/disk/atomic-file.ts";
import { nodeDisk } from "../../src/store/disk/node-disk.ts";
import { HomeLockedError } from "../../src/store/errors.ts";
import { lockHome, readHolder } from "../../src/store/home/home.ts";
import { processStamp } from "../../src/store/home/process-stamp.ts";
import { openStore } from "../../src/store/open-store.ts";
import { holderFile } from "../../src/store/paths.ts";
import { temporaryHome } from "../../src/testing/temporary-home.ts";

const clock = { now: () => 1_800_000_000_000 };

test("a second process is refused with the pid of the first; the lock dies with its holder", async () => {
  await using home = await temporaryHome();
  const { child, lines } = start(home.path, 0);
  expect(await lines.next()).toEqual({ value: "open", done: false });

  const refusal = await openStore({ root: home.path, clock }).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(HomeLockedError);
  expect((refusal as HomeLockedError).message).toBe(
    `The home ${home.path} is in use by pid ${child.pid}. Stop it, or choose another home with --home or AGIRAPH_HOME.`,
  );
  expect(await said(home.path, 1)).toEqual([
    `failed HomeLockedError: The home ${home.path} is in use by pid ${child.pid}. Stop it, or choose another home with --home or AGIRAPH_HOME.`,
  ]);

  child.kill("SIGKILL");
  await once(child, "exit");
  const store = await openStore({ root: home.path, clock });
  expect(readHolder(nodeDisk, home.path)).toEqual({
    pid: process.pid,
    started_ts: 1_800_000_000,
    epoch: 2,
    process: processStamp(),
  });
  await store.close();
});

test("deleting home.lock while it is held lets no second process in, and the first one goes on", async () => {
  await using home = await temporaryHome();
  const store = await openStore({ root: home.path, clock });
  const log = await store.create("agent-first");
  rmSync(join(home.path, "home.lock"));

  expect(await said(home.path, 1)).toEqual([expect.stringContaining(`in use by pid ${process.pid}`)]);
  await log.append({ facts: [{ type: "agent.paused", data: {} }] }).durable;
  // The new file is locked too, so that neither file can be had by deleting the name of the other.
  expect(nodeDisk.lock(join(home.path, "home.lock"))).toBeUndefined();
  rmSync(join(home.path, "home.lock.json"));
  expect(await said(home.path, 1)).toEqual([expect.stringContaining("is in use by another process")]);
  await store.close();
  expect(await said(home.path, 1)).toEqual(["open", "acked 1", "done"]);
});

test("a holder that home.lock.json no longer names has lost the home, also where processes have no mark", async () => {
  await using home = await temporaryHome();
  // The lock of the new file belongs to somebody else.
  const disk = { ...nodeDisk, lock: () => ({ release() {}, renew: () => "lost" as const }) };
  const lock = lockHome(disk, home.path, clock.now());
  expect(lock.renew()).toBe(true);
  const { process: mark, ...unmarked } = lock.holder;
  for (const next of [
    { ...unmarked, epoch: 2 },
    { ...unmarked, pid: 1 },
    { ...unmarked, process: mark, epoch: 2 },
  ]) {
    replaceFile(holderFile(home.path), JSON.stringify(next), nodeDisk);
    expect(lock.renew()).toBe(false);
  }
});

test("whose lock was deleted and taken by another process writes nothing more", async () => {
  await using home = await temporaryHome();
  const store = await openStore({ root: home.path, clock });
  const log = await store.create("agent-first");
  await log.append({ facts: [{ type: "agent.paused", data: {} }] }).durable;
  rmSync(join(home.path, "home.lock"));
  rmSync(join(home.path, "home.lock.json"));
  const { child, lines } = start(home.path, 0);
  expect(await lines.next()).toEqual({ value: "open", done: false });

  const late = log.append({ facts: [{ type: "agent.paused", data: {} }] }).durable;
  await expect(late).rejects.toThrow("another process has taken the home");
  await store.close();
  child.kill("SIGKILL");
  await once(child, "exit");
  const again = await openStore({ root: home.path, clock });
  expect((await again.open("agent-first")).seq).toBe(1);
  await again.close();
});

test("whose lock was deleted and taken writes nothing more, also when the other process is gone again", async () => {
  await using home = await temporaryHome();
  const store = await openStore({ root: home.path, clock });
  const log = await store.create("agent-first");
  await log.append({ facts: [{ type: "agent.paused", data: {} }] }).durable;
  rmSync(join(home.path, "home.lock"));
  rmSync(join(home.path, "home.lock.json"));
  expect(await said(home.path, 3)).toContain("done");

  const late = log.append({ facts: [{ type: "agent.paused", data: {} }] }).durable;
  await expect(late).rejects.toThrow("another process has taken the home");
  await store.close();
  const again = await openStore({ root: home.path, clock });
  expect((await again.open("agent-first")).seq).toBe(1);
  await again.close();
});

test("a second opening in the same process is refused too, and does not loosen the lock for others", async () => {
  await using home = await temporaryHome();
  const store = await openStore({ root: home.path, clock });
  await expect(openStore({ root: home.path, clock })).rejects.toThrow(HomeLockedError);
  expect(await said(home.path, 1)).toEqual([expect.stringContaining(`in use by pid ${process.pid}`)]);
  await store.close();
  expect(await said(home.path, 1)).toEqual(["open", "acked 1", "done"]);
});

test("another process may look while one works, and sees only whole records", async () => {
  await using home = await temporaryHome();
  const { child, lines } = start(home.path, 2000);
  const seen: number[] = [];
  for await (const line of lines) {
    const acked = Number(/^acked (\d+)$/.exec(line)?.[1] ?? 0);
    if (acked === 0 || acked % 100 !== 0) continue;
    const store = await openStore({ root: home.path, clock, readOnly: true });
    const log = await store.open("agent-abcd");
    const facts = await log.read({ after: 0, limit: 1e6 });
    expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, index) => index + 1));
    expect(facts.length).toBeGreaterThanOrEqual(acked);
    expect(store.repairs).toEqual([]);
    seen.push(facts.length);
    await store.close();
  }
  if (child.exitCode === null) await once(child, "exit");
  expect(seen.length).toBe(20);
});

test("a process that was killed at work has lost nothing it had acknowledged", async () => {
  await using home = await temporaryHome();
  let least = 0;
  for (const killAt of [1, 60, 150, 333]) {
    // A small journal, so that kills also fall while a journal is removed.
    const { child, lines } = start(home.path, 100_000, 4096);
    for await (const line of lines) {
      if (line.startsWith("acked")) least++;
      if (line === `acked ${killAt}`) child.kill("SIGKILL");
    }
    if (child.signalCode === null) await once(child, "exit");
    const store = await openStore({ root: home.path, clock });
    const log = await store.open("agent-abcd");
    const facts = await log.read({ after: 0, limit: 1e6 });
    const entries = await log.conversation("conversation.jsonl");
    expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, index) => index + 1));
    expect(entries.length).toBe(facts.length);
    expect(facts.length).toBeGreaterThanOrEqual(least);
    least = facts.length;
    await store.close();
    expect(existsSync(join(home.path, "damaged"))).toBe(false);
  }
});

function start(
  root: string,
  count: number,
  limit = 8 * 1024 * 1024,
): { child: ChildProcess; lines: AsyncIterator<string> & AsyncIterable<string> } {
  const main = join(import.meta.dirname, "store-child.ts");
  const child = spawn(process.execPath, [main, root, String(count), String(limit)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, lines };
}

async function said(root: string, count: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of start(root, count).lines) lines.push(line);
  return lines;
}
