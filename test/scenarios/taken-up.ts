import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Catalog } from "../../src/models/catalog/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import type { Config } from "../../src/protocol/config.ts";
import {
  type Entry,
  type Fact,
  type NewFact,
  NO_USAGE,
  type NodeId,
  type ReplyEntry,
} from "../../src/protocol/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { nodeDisk } from "../../src/store/disk/node-disk.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { AgentLog, Store } from "../../src/store/store.ts";
import { temporaryHome } from "../../src/testing/index.ts";

/** What a process left behind when it was killed: exactly this is on disk. */
export interface Remains {
  /** After the agent's birth and the beginning of its first run. */
  facts?: NewFact[];
  conversations?: Record<string, Entry[]>;
  /** By path in the agent's folder. */
  files?: Record<string, string | { content: string; mode: number }>;
  /** By worker id: who thinks. */
  minds: Record<string, Model>;
  config?: Config;
  env?: Readonly<Record<string, string>>;
  /** Between the agent and its log. */
  wrap?: (log: AgentLog) => AgentLog;
}

export interface TakenUp extends AsyncDisposable {
  runtime: Runtime;
  agent: Agent;
  /** The facts since the process was killed. */
  since(): Promise<Fact[]>;
  start(): Promise<void>;
}

/** An agent whose process was killed, and a new process that has opened its home. `start` goes on. */
export async function takenUp({
  facts = [],
  conversations = {},
  files = {},
  minds,
  config = {},
  env = {},
  wrap,
}: Remains): Promise<TakenUp> {
  const home = await temporaryHome();
  const store = await openStore({ root: home.path, disk: nodeDisk, clock: systemClock });
  const log = await store.create("agent-abcd");
  await log.append({ facts: [...birth, ...facts] }).durable;
  for (const [file, entries] of Object.entries(conversations)) await log.append({ entries: { file, entries } }).durable;
  for (const [path, file] of Object.entries(files)) {
    const { content, mode } = typeof file === "string" ? { content: file, mode: 0o600 } : file;
    await mkdir(dirname(join(log.dir, path)), { recursive: true });
    await writeFile(join(log.dir, path), content);
    await chmod(join(log.dir, path), mode);
  }
  const killedAt = log.seq;
  const ports = { catalog: catalogOf(minds), store: wrap ? wrapped(store, wrap) : store };
  const runtime = await openRuntime({ home: home.path, env, config }, ports);
  const agent = await runtime.agent("agent-abcd");
  return {
    runtime,
    agent,
    since: () => log.read({ after: killedAt, limit: 100_000 }),
    start: () => agent.start("recovered"),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await home.remove();
    },
  };
}

function wrapped(store: Store, wrap: (log: AgentLog) => AgentLog): Store {
  return {
    root: store.root,
    repairs: store.repairs,
    agents: () => store.agents(),
    create: async (id) => wrap(await store.create(id)),
    open: async (id) => wrap(await store.open(id)),
    announce: (address) => store.announce(address),
    get writeError() {
      return store.writeError;
    },
    onWriteError: (listener) => store.onWriteError(listener),
    room: () => store.room(),
    close: () => store.close(),
  };
}

/** The same log, with something of it replaced. */
export function changed(log: AgentLog, change: Partial<AgentLog>): AgentLog {
  return {
    id: log.id,
    dir: log.dir,
    get seq() {
      return log.seq;
    },
    append: (batch) => log.append(batch),
    follow: (after, signal) => log.follow(after, signal),
    subscribe: (listener, of) => log.subscribe(listener, of),
    read: (range) => log.read(range),
    conversation: (file) => log.conversation(file),
    entriesBefore: (file, limit, before) => log.entriesBefore(file, limit, before),
    snapshot: (name, version) => log.snapshot(name, version),
    bytesToRead: (name, version) => log.bytesToRead(name, version),
    saveSnapshot: (name, version, seq, state) => log.saveSnapshot(name, version, seq, state),
    close: () => log.close(),
    ...change,
  };
}

const birth: NewFact[] = [
  {
    type: "agent.created",
    data: {
      name: "n",
      goal: "Go",
      mode: "finite",
      model: "scripted/coordinator",
      worker_model: "scripted/alice",
      budget_usd: null,
      project: null,
      tools: null,
    },
  },
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id: "run-1", goal: "Go" } },
  spawned("coordinator"),
  { type: "worker.busy", data: { worker_id: "coordinator", node_id: null } },
];

/** How many facts there are before those of `Remains`. */
export const BIRTH = birth.length;

export function spawned(worker_id: string): NewFact {
  const name = `${worker_id[0]?.toUpperCase()}${worker_id.slice(1)}`;
  const model = `scripted/${worker_id}`;
  return { type: "worker.spawned", data: { run_id: "run-1", worker_id, name, kind: "harnessed", model } };
}

export function created(node_id: NodeId, inference: "multi" | "single" = "multi"): NewFact {
  const nothing = { dependencies: [], refs: {}, deliverables: [], parent_node_id: null };
  const data = { run_id: "run-1", node_id, task: `Task of ${node_id}`, created_by: "coordinator", ...nothing } as const;
  return { type: "node.created", data: { ...data, inference } };
}

export function assigned(node_id: NodeId, worker_id: string): NewFact[] {
  return [
    { type: "node.assigned", data: { node_id, worker_id } },
    { type: "worker.busy", data: { worker_id, node_id } },
  ];
}

/** The beginning of the coordinator's conversation, told the news up to this fact. */
export function begun(upto: number): Entry[] {
  return [
    { role: "system", content: "You coordinate." },
    { role: "user", from: "human", content: "Go", run_id: "run-1", upto },
  ];
}

/** The beginning of Alice's work on a node, told the news up to this fact. */
export function assignment(node_id: NodeId, upto: number): Entry[] {
  return [
    { role: "system", content: `You are Alice, on ${node_id}.` },
    { role: "user", from: "coordinator", content: `Task of ${node_id}`, node_id, run_id: "run-1", upto },
  ];
}

export function calling(...calls: { id: string; name: string; args: unknown }[]): ReplyEntry {
  const content = calls.map((call) => ({ type: "call" as const, ...call }));
  return { role: "assistant", content, model: "m", usage: NO_USAGE, cost_usd: 0, finish: "tool-calls" };
}

export function saying(text: string): ReplyEntry {
  const content = [{ type: "text" as const, text }];
  return { role: "assistant", content, model: "m", usage: NO_USAGE, cost_usd: 0, finish: "stop" };
}

export const ALICES = "runs/run-1/workers/alice/conversation.jsonl";

function catalogOf(minds: Record<string, Model>): Catalog {
  return {
    model: async (id) => {
      const mind = minds[id.replace("scripted/", "")];
      if (!mind) throw new Error(`Nobody scripted ${id}.`);
      return mind;
    },
    list: async () => [],
    programOf: () => undefined,
    chooseDefault: async () => ({ model: "scripted/coordinator", why: "scripted" }),
    cost: async () => 0,
    resolve: (id) => ({ id, contextWindow: 200_000, searchesWeb: false, note: null }),
  };
}
