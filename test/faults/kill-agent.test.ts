import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { callsOf, type Fact, type FactOf, type NodeId, type StoredEntry } from "../../src/protocol/index.ts";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import { nodeDir } from "../../src/store/paths.ts";
import type { AgentLog } from "../../src/store/store.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";

/**
 * D1, D2, D3, D10 for real: the built program is killed with SIGKILL again and again while a coordinator hands out
 * nodes and workers write, run commands and publish. What it printed it had acknowledged; in the end all of that is
 * there, once, no command ran twice, and the run has finished.
 */
const KILLS = Number(process.env.AGIRAPH_KILLS ?? 200);
const SEED = Number(process.env.AGIRAPH_SEED ?? 20_261_115);
const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");

test(`a working agent is killed ${KILLS} times (seed ${SEED}), loses nothing, doubles nothing, and finishes`, {
  timeout: 600_000,
}, async () => {
  await using home = await temporaryHome();
  let kills = 0;
  await using provider = await startProviderServer({
    respond: (request) => mindOf(request, () => kills < KILLS),
    forget: true,
  });
  await writeFile(
    join(home.path, "config.json"),
    JSON.stringify({
      model: "openai-compatible/local/m",
      max_turns: 100_000,
      providers: { local: { base_url: provider.url } },
    }),
  );

  const random = mulberry32(SEED);
  const acknowledged = new Map<number, string>();
  let agent: string | undefined;
  for (let ended = false; !ended; ) {
    const words = agent ? ["resume", agent] : ["run", "Work under fire"];
    const child = spawn(process.execPath, [MAIN, ...words, "--json", "--home", home.path], {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: home.path,
    });
    const life = kills < KILLS ? Math.floor(random() * 40) : Number.POSITIVE_INFINITY;
    const lag = random() * 15;
    const { code, facts, stderr } = await live(child, life, lag);
    for (const line of facts) {
      const { seq, agent_id } = JSON.parse(line) as Fact;
      const before = acknowledged.get(seq);
      if (before !== undefined) expect(line).toBe(before);
      acknowledged.set(seq, line);
      agent = agent_id;
    }
    if (code === null) kills += 1;
    else if (code !== 0 && agent !== undefined) throw new Error(`The program ended by itself with ${code}:\n${stderr}`);
    ended = code === 0;
  }

  const store = await lookAtHome(home.path);
  const log = await store.open(agent as Fact["agent_id"]);
  const facts = await log.read({ after: 0, limit: 1_000_000 });
  expectAcknowledgedFacts(facts, acknowledged);
  await expectNodesOnce(log, facts);
  await expectConversationsWhole(log, facts);
  await expectEffectsAtMostOnce(log, facts);
  expect(facts.at(-1)?.type).toBe("agent.completed");
  const nodes = facts.filter((fact) => fact.type === "node.completed").length;
  console.log(
    `killed ${kills} times over ${facts.length} facts, ${acknowledged.size} seen before a kill, ${nodes} nodes completed`,
  );
  await store.close();
});

/** Lets the program live until it has printed so many facts, and a moment more; then SIGKILL. */
async function live(
  child: ChildProcess,
  life: number,
  lag: number,
): Promise<{ code: number | null; facts: string[]; stderr: string }> {
  const facts: string[] = [];
  let stderr = "";
  if (!child.stdout || !child.stderr) throw new Error("no pipes");
  child.stderr.on("data", (text) => (stderr += text));
  const kill = () => setTimeout(() => child.kill("SIGKILL"), lag);
  if (life === 0) kill();
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    if (!line.endsWith("}")) return; // cut off by the kill
    facts.push(line);
    if (facts.length === life) kill();
  });
  const [[code]] = await Promise.all([once(child, "exit"), once(lines, "close")]);
  return { code, facts, stderr };
}

/** A stateless mind: what comes next follows from the conversation, as with a real model. */
function mindOf(request: ProviderRequest, goOn: () => boolean): ProviderTurn {
  const words = request.messages.map((message) => message.text).join("\n");
  const last = request.messages.at(-1)?.text ?? "";
  return request.tools.some((tool) => tool === "finish") ? coordinatorTurn(words, last, goOn) : workerTurn(request);
}

function coordinatorTurn(words: string, last: string, goOn: () => boolean): ProviderTurn {
  if (last.includes("Outcome unknown")) return { calls: [{ name: "list_files", args: { path: "nodes" } }] };
  const created = highest(words, /(?:Created node-|nodes\/node-)(\d+)/g);
  const completed = highest(words, /node-(\d+) completed/g);
  if (created > completed) return { text: "I wait for the news." };
  if (goOn()) return { calls: [{ name: "create_work_node", args: { task: `Piece ${created + 1}` } }] };
  return { calls: [{ name: "finish", args: { summary: `${completed} pieces are done.` } }] };
}

function workerTurn({ turn, system }: ProviderRequest): ProviderTurn {
  const piece = /Piece (\d+)/.exec(system)?.[1];
  if (turn === 1 || turn === 3)
    return { calls: [{ name: "bash", args: { command: `echo ${piece}.${turn} >> effects.txt` } }] };
  if (turn < 4 || turn % 2 === 0)
    return { calls: [{ name: "write_file", args: { path: `scratch/${turn}.md`, content: `${piece}.${turn}` } }] };
  return { calls: [{ name: "publish", args: { summary: `Piece ${piece} is done.` } }] };
}

function highest(words: string, pattern: RegExp): number {
  return Math.max(0, ...[...words.matchAll(pattern)].map((match) => Number(match[1])));
}

function expectAcknowledgedFacts(facts: Fact[], acknowledged: Map<number, string>): void {
  expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, at) => at + 1));
  const bySeq = new Map(facts.map((fact) => [fact.seq, fact]));
  for (const [seq, line] of acknowledged) expect(bySeq.get(seq)).toEqual(JSON.parse(line));
}

async function expectNodesOnce(log: AgentLog, facts: Fact[]): Promise<void> {
  const of = <T extends Fact["type"]>(type: T) => facts.filter((fact): fact is FactOf<T> => fact.type === type);
  const ids = of("node.created").map((fact) => fact.data.node_id);
  expect(ids).toEqual(ids.map((_, at) => `node-${at + 1}`));
  expect(
    of("node.completed")
      .map((fact) => fact.data.node_id)
      .sort(),
  ).toEqual([...ids].sort());
  expect(
    of("node.published")
      .map((fact) => fact.data.node_id)
      .sort(),
  ).toEqual([...ids].sort());
  for (const { data } of of("node.published")) {
    for (const file of data.files) {
      const bytes = await readFile(join(nodeDir(log.dir, "run-1", data.node_id), "published", file.path));
      expect([file.path, createHash("sha256").update(bytes).digest("hex")]).toEqual([file.path, file.sha256]);
    }
  }
}

async function expectConversationsWhole(log: AgentLog, facts: Fact[]): Promise<void> {
  const workers = facts.filter((fact) => fact.type === "worker.spawned").map((fact) => fact.data.worker_id);
  for (const worker of workers) {
    const file = worker === "coordinator" ? "conversation.jsonl" : `runs/run-1/workers/${worker}/conversation.jsonl`;
    const entries = await log.conversation(file);
    expect(entries.map((entry) => entry.seq)).toEqual(entries.map((_, at) => at + 1));
    expect(unansweredIn(entries)).toEqual([]);
  }
}

/** Calls without exactly one result right after their reply. */
function unansweredIn(entries: StoredEntry[]): string[] {
  return entries.flatMap((entry, at) => {
    if (entry.role !== "assistant") return [];
    const calls = callsOf(entry).map((call) => call.id);
    const results = entries
      .slice(at + 1, at + 1 + calls.length)
      .map((next) => (next.role === "tool" ? next.call_id : next.role));
    return JSON.stringify(calls) === JSON.stringify(results) ? [] : [`${entry.seq}: ${calls} → ${results}`];
  });
}

/** A command is never run twice; one whose result was recorded ran once. */
async function expectEffectsAtMostOnce(log: AgentLog, facts: Fact[]): Promise<void> {
  const nodes = new Set(facts.flatMap((fact) => (fact.type === "node.completed" ? fact.data.node_id : [])));
  for (const node of nodes) {
    const text = await readFile(join(nodeDir(log.dir, "run-1", node as NodeId), "published/effects.txt"), "utf8").catch(
      () => "",
    );
    const lines = text.trim().split("\n").filter(Boolean);
    expect([node, lines]).toEqual([node, [...new Set(lines)]]);
    const done = facts.filter(
      (fact) => fact.type === "tool.result" && fact.data.node_id === node && fact.data.tool === "bash" && fact.data.ok,
    ).length;
    expect(lines.length).toBeGreaterThanOrEqual(done);
  }
}

/** A small seeded generator, so that a failing run can be had again. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
