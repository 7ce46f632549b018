import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, vi } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { callsOf, type Fact, type FactOf, type NodeId, type StoredEntry } from "../../src/protocol/index.ts";
import { nodeDir } from "../../src/store/paths.ts";
import type { AgentLog } from "../../src/store/store.ts";

const MAIN = join(import.meta.dirname, "../../dist/bundle/main.js");

/** How long the program may live: until it has printed so many facts, and so many milliseconds more. */
export interface Life {
  facts: number;
  lag: number;
}

/** Looks at the process that is to be killed, so many times already; false: not yet. */
export type BeforeKill = (pid: number, looks: number) => boolean;

export interface Slaughter {
  agent: Fact["agent_id"];
  /** Every line that some life of the program printed, by its number: what was acknowledged. */
  acknowledged: Map<number, string>;
}

export async function configure(home: string, providerUrl: string, config: Config = {}): Promise<void> {
  const providers = { local: { base_url: providerUrl, context_window: 100_000_000 } };
  const whole: Config = { model: "openai-compatible/local/m", max_turns: 100_000, providers, ...config };
  await writeFile(join(home, "config.json"), JSON.stringify(whole));
}

/**
 * Starts the built program, kills it with SIGKILL, and starts it again, until it ends by itself. `lifeOf` is asked
 * before each life with the number of kills so far; undefined lets it live.
 */
export async function killAgainAndAgain(
  home: string,
  lifeOf: (kills: number) => Life | undefined,
  onKill: (kills: number) => void,
  { flags = [], beforeKill }: { flags?: readonly string[]; beforeKill?: BeforeKill } = {},
): Promise<Slaughter> {
  const acknowledged = new Map<number, string>();
  let agent: Fact["agent_id"] | undefined;
  for (let kills = 0; ; ) {
    const words = agent ? ["resume", agent] : ["run", "Work under fire", ...flags];
    const child = spawn(process.execPath, [MAIN, ...words, "--json", "--home", home], {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: home,
    });
    const { code, facts, stderr } = await live(child, lifeOf(kills), beforeKill);
    if (code) throw new Error(`The program ended by itself with ${code}:\n${stderr}`);
    for (const line of facts) {
      const { seq, agent_id } = JSON.parse(line) as Fact;
      const before = acknowledged.get(seq);
      if (before !== undefined) expect(line).toBe(before);
      acknowledged.set(seq, line);
      agent = agent_id;
    }
    if (code === null) {
      onKill(++kills);
      await expectNoProcessLeft(home);
    } else if (agent !== undefined) return { agent, acknowledged };
  }
}

export async function expectNoProcessLeft(home: string): Promise<void> {
  await vi.waitFor(() => expect(processesOf(home)).toEqual([]), { timeout: 120_000, interval: 10 });
}

/** Processes that name this home on their command line or work in it, as a sandboxed command does, by their words. */
function processesOf(home: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      const isThere = words.includes(home) || readlinkSync(`/proc/${pid}/cwd`).startsWith(home);
      return isThere ? [`${pid}: ${words.slice(0, 200)}`] : [];
    } catch {
      return []; // It is gone.
    }
  });
}

async function live(
  child: ChildProcess,
  life: Life | undefined,
  beforeKill: BeforeKill = () => true,
): Promise<{ code: number | null; facts: string[]; stderr: string }> {
  const facts: string[] = [];
  let stderr = "";
  if (!child.stdout || !child.stderr) throw new Error("no pipes");
  child.stderr.on("data", (text) => (stderr += text));
  let due: NodeJS.Timeout | undefined;
  const kill = ({ lag }: Life, looks = 0) => {
    due = setTimeout(() => {
      if (beforeKill(child.pid ?? 0, looks)) child.kill("SIGKILL");
      else kill({ facts: 0, lag: 1 }, looks + 1);
    }, lag);
  };
  if (life?.facts === 0) kill(life);
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    if (!line.endsWith("}")) return; // cut off by the kill
    facts.push(line);
    if (facts.length === life?.facts) kill(life);
  });
  const [[code]] = await Promise.all([once(child, "exit"), once(lines, "close")]);
  clearTimeout(due);
  return { code, facts, stderr };
}

export function factsOf<T extends Fact["type"]>(facts: readonly Fact[], type: T): FactOf<T>[] {
  return facts.filter((fact): fact is FactOf<T> => fact.type === type);
}

export function expectAcknowledgedFacts(facts: Fact[], acknowledged: Map<number, string>): void {
  expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, at) => at + 1));
  const bySeq = new Map(facts.map((fact) => [fact.seq, fact]));
  for (const [seq, line] of acknowledged) expect(bySeq.get(seq)).toEqual(JSON.parse(line));
}

export async function expectNodesOnce(log: AgentLog, facts: Fact[]): Promise<void> {
  const ids = factsOf(facts, "node.created").map((fact) => fact.data.node_id);
  const sorted = [...ids].sort();
  expect(ids).toEqual(ids.map((_, at) => `node-${at + 1}`));
  for (const type of ["node.assigned", "node.published", "node.completed"] as const) {
    const once = factsOf(facts, type).map((fact) => fact.data.node_id);
    expect([type, once.sort()]).toEqual([type, sorted]);
  }
  for (const { data } of factsOf(facts, "node.published")) {
    for (const file of data.files) {
      const bytes = await readFile(join(nodeDir(log.dir, "run-1", data.node_id), "published", file.path));
      expect([file.path, createHash("sha256").update(bytes).digest("hex")]).toEqual([file.path, file.sha256]);
    }
  }
}

/** By worker, the coordinator first. */
export async function conversationsOf(log: AgentLog, facts: Fact[]): Promise<Map<string, StoredEntry[]>> {
  const workers = factsOf(facts, "worker.spawned").map((fact) => fact.data.worker_id);
  const conversations = new Map<string, StoredEntry[]>();
  for (const worker of workers) {
    const file = worker === "coordinator" ? "conversation.jsonl" : `runs/run-1/workers/${worker}/conversation.jsonl`;
    conversations.set(worker, await log.conversation(file));
  }
  return conversations;
}

export function expectConversationsWhole(conversations: ReadonlyMap<string, StoredEntry[]>): void {
  for (const [worker, entries] of conversations) {
    expect(entries.map((entry) => entry.seq)).toEqual(entries.map((_, at) => at + 1));
    expect([worker, unansweredIn(entries)]).toEqual([worker, []]);
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
export async function expectEffectsAtMostOnce(log: AgentLog, facts: Fact[]): Promise<void> {
  const done = new Map<NodeId, number>();
  for (const { data } of factsOf(facts, "tool.result"))
    if (data.node_id && data.tool === "bash" && data.ok) done.set(data.node_id, (done.get(data.node_id) ?? 0) + 1);
  for (const { data } of factsOf(facts, "node.completed")) {
    const file = join(nodeDir(log.dir, "run-1", data.node_id), "published/effects.txt");
    const text = await readFile(file, "utf8").catch(() => "");
    const lines = text.trim().split("\n").filter(Boolean);
    expect([data.node_id, lines]).toEqual([data.node_id, [...new Set(lines)]]);
    expect(lines.length).toBeGreaterThanOrEqual(done.get(data.node_id) ?? 0);
  }
}

/** A small seeded generator, so that a failing run can be had again. */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
