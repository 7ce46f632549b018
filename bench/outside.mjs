import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { programFiles } from "../src/sandbox/binds/program-files.ts";
import { openSandbox } from "../src/sandbox/open-sandbox.ts";
import { holdersOf, kilobytes, sum, TICKS_A_SECOND, ticksOf } from "./processes.mjs";

/**
 * What outside workers cost us while they are silent: so many programs, each in a sandbox of its own with a door and a
 * way out, that listen to their input and do nothing.
 *
 * BENCH-OUTSIDE-1. Ours is all but the program itself: what our own process grew by, and every process that holds the
 *     sandbox.
 * BENCH-OUTSIDE-2. Memory is counted twice: resident, where what processes share counts for each, and by fair share.
 *     The target is for the larger one.
 */
export async function silentPrograms(home, { programs, seconds }) {
  const sandbox = await openSandbox();
  if (sandbox.kind !== "bubblewrap") throw new Error(`Nothing is measured without bubblewrap: ${sandbox.about}`);
  const started = [await start(sandbox, `${home}/warm-up`)];
  const before = ownMemory();
  const times = [];
  for (let i = 0; i < programs; i++) {
    const began = performance.now();
    started.push(await start(sandbox, `${home}/${i}`));
    times.push(performance.now() - began);
  }
  const grown = (ownMemory() - before) / programs;
  const holders = started.flatMap(({ pid }) => holdersOf(pid));
  const cpu = process.cpuUsage();
  const ticks = sum(holders, ticksOf);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = (user + system) / 1e6 + (sum(holders, ticksOf) - ticks) / TICKS_A_SECOND;
  const figures = {
    resident_mib:
      (grown + sum(holders, (pid) => kilobytes(`/proc/${pid}/status`, /^VmRSS:\s+(\d+)/m)) / started.length) / 1024,
    fair_mib:
      (grown + sum(holders, (pid) => kilobytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m)) / started.length) / 1024,
    cpu_percent: (100 * cpuSeconds) / seconds / started.length,
    start_ms: times.toSorted((a, b) => a - b)[times.length >> 1],
    processes: holders.length / started.length,
  };
  const stopping = performance.now();
  await Promise.all(started.map((running) => running.stop(2_000)));
  return { ...figures, stop_all_ms: performance.now() - stopping };
}

async function start(sandbox, folder) {
  mkdirSync(folder, { recursive: true });
  const { command, read } = await programFiles([process.execPath], "");
  const running = await sandbox.start({
    launch: () => ({ argv: [command, "-e", "process.stdin.resume()"], env: { HOME: folder } }),
    cwd: folder,
    binds: { write: [folder], read, hide: [] },
    network: { allow: ["api.example.com:443"] },
    door: createServer((_, response) => response.end()),
    signal: new AbortController().signal,
  });
  running.stdout.resume();
  running.stderr.resume();
  return running;
}

/** In kilobytes, after a collection. */
function ownMemory() {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1024;
}
