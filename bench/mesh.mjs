import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Layout } from "../src/mesh/files/layout.ts";
import { format } from "../src/mesh/files/message-file.ts";
import { Meshes } from "../src/mesh/running/meshes.ts";

/**
 * A mesh with agents that end each task at once: what a message costs that is a file.
 *
 * BENCH-MESH-1. A latency begins with the rename that brings the file into an agent's inbox and ends when that agent is
 *     told: the kernel's notice, reading, three moves and all checks are in it. One message at a time, from the same
 *     process.
 * BENCH-MESH-2. The throughput is that of bursts of a thousand over ten agents, from the first rename to the last end.
 * BENCH-MESH-3. Memory is what the process keeps more after the bursts than before, garbage collected. Its resident
 *     size grows by what V8 gives its young generation (up to about 100 MB), whatever the program keeps; it is shown
 *     beside it.
 */
export async function meshCost(project, { agents, latencies, messages }) {
  const names = Array.from({ length: agents }, (_, number) => `agent-${number}`);
  const world = await open(new Layout(project), names);
  for (let i = 0; i < 100; i++) await world.one(names[i % agents]); // warm
  const told = [];
  const cpu = process.cpuUsage();
  for (let i = 0; i < latencies; i++) told.push(await world.one(names[i % agents]));
  const { user, system } = process.cpuUsage(cpu);
  told.sort((a, b) => a - b);
  await world.burst(1_000); // warm
  const before = collected();
  const began = performance.now();
  for (let sent = 0; sent < messages; sent += 1_000) await world.burst(1_000);
  const spent = performance.now() - began;
  const after = collected();
  await world.close();
  return {
    told_p50_ms: told[told.length >> 1],
    told_p99_ms: told[Math.floor(told.length * 0.99)],
    one_cpu_ms: (user + system) / 1000 / latencies,
    messages_a_second: (messages / spent) * 1000,
    more_rss_mb: (after.rss - before.rss) / 1e6,
    kept_mb: Math.max(0.001, (keptIn(after) - keptIn(before)) / 1e6),
  };
}

async function open(layout, names) {
  const mesh = "m";
  mkdirSync(layout.configs, { recursive: true });
  const config = { mesh, type: "persistent", agents: names.map((name) => `x/${name}`) };
  writeFileSync(join(layout.configs, "m.json"), JSON.stringify(config));
  for (const name of names) {
    mkdirSync(join(layout.agents, "x", name), { recursive: true });
    writeFileSync(join(layout.agents, "x", name, "config.json"), JSON.stringify({ name }));
  }
  let count = 0;
  let onTold = () => {};
  let onEnd = () => {};
  const put = (agent, queue, header) => {
    const name = `${String(++count).padStart(6, "0")}.md`;
    const aside = join(layout.project, name);
    writeFileSync(aside, format({ ...header, status: "pending" }, "# Words\n"));
    return () => renameSync(aside, join(layout.queue({ mesh, agent }, queue), name));
  };
  const meshes = new Meshes(layout, {
    now: () => Date.now(),
    record: ({ type }) => type === "mesh.completed" && onEnd(),
    member: (_, { name: agent }) => ({
      async tell() {
        onTold();
        put(agent, "outbox", { from: `m/${agent}`, to: "mesh", type: "task-complete" })();
      },
      async close() {},
    }),
    isTrusted: () => true,
    gate: async () => null,
    human() {},
  });
  await meshes.open();
  const task = (agent) => put(agent, "inbox", { from: "human", to: `m/${agent}`, type: "task" });
  return {
    async one(agent) {
      const renameIn = task(agent);
      let told = 0;
      let began = 0;
      onTold = () => (told = performance.now() - began);
      await new Promise((resolve) => {
        onEnd = resolve;
        began = performance.now();
        renameIn();
      });
      // What follows (state.json) is not the next one's.
      await new Promise((resolve) => setImmediate(resolve));
      return told;
    },
    async burst(size) {
      let left = size;
      onTold = () => {};
      const done = new Promise((resolve) => (onEnd = () => --left === 0 && resolve()));
      for (let i = 0; i < size; i++) task(names[i % names.length])();
      await done;
    },
    close: () => meshes.close(),
  };
}

function keptIn({ heapUsed, external }) {
  return heapUsed + external;
}

function collected() {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage();
}
