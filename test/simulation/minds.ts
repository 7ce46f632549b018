import { type Model, ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import {
  type CallPart,
  COORDINATOR,
  callsOf,
  type Entry,
  type Part,
  type ReplyEntry,
} from "../../src/protocol/index.ts";
import { coordinatorMove } from "./coordinator-mind.ts";
import { type Dice, diceOf } from "./dice.ts";
import type { Plan } from "./plan.ts";
import { workerMove } from "./worker-mind.ts";
import type { World } from "./world.ts";

/** What a mind wants to do with a turn: calls, or none. */
export type Move = readonly { name: string; args: unknown }[];

/** What a mind knows when it decides: all of it is in its history. */
export interface Insight {
  seed: number;
  plan: Plan;
  worker: string;
  /** Unique among all calls of all conversations. */
  tag: string;
  /** How many replies it gave so far, in this run or on this node. */
  turn: number;
  history: readonly Entry[];
  dice: Dice;
}

export const COORDINATOR_MODEL = "random/coordinator";
export const WORKER_MODEL = "random/worker";

/** A mind whose reply follows from the seed, its name and what it has heard; only whether it fails is up to the try. */
export function randomMind(id: string, seed: number, plan: Plan, world: World, tries: Map<string, number>): Model {
  const reply = (request: ModelRequest): ReplyEntry => {
    const { history } = request;
    const worker = id === COORDINATOR_MODEL ? COORDINATOR : nameIn(request.system);
    const begin = history.findLastIndex((entry) => entry.role === "user" && (entry.node_id ?? entry.run_id));
    const first = history[begin];
    const work = first?.role === "user" ? (first.node_id ?? first.run_id ?? "") : "";
    const said = history.filter((entry) => entry.role === "assistant").length;
    const tag = `${worker}.${work}.${said}`;
    const dice = diceOf(seed, tag, history.length, lastWords(history));
    failPerhaps(plan, seed, tag, tries, request);
    const turn = history.slice(begin).filter((entry) => entry.role === "assistant").length;
    const insight: Insight = { seed, plan, worker, tag, turn, history, dice };
    return replyOf(id, tag, worker === COORDINATOR ? coordinatorMove(insight) : workerMove(insight), dice);
  };
  return {
    id,
    contextWindow: 200_000,
    searchesWeb: false,
    reply: (request, signal) => world.answer(signal, () => reply(request)),
  };
}

function replyOf(model: string, tag: string, move: Move, dice: Dice): ReplyEntry {
  const calls = move.map(({ name, args }, at): CallPart => ({ type: "call", id: `${tag}.${at}`, name, args }));
  const text: Part[] = calls.length === 0 || dice.chance(0.2) ? [{ type: "text", text: `I think (${tag}).` }] : [];
  return {
    role: "assistant",
    content: [...text, ...calls],
    model,
    usage: { input: dice.int(1000), output: dice.int(200), cache_read: 0, cache_write: 0, reasoning: 0 },
    cost_usd: dice.chance(0.05) ? null : dice.int(100) / 10_000,
    finish: calls.length > 0 ? "tool-calls" : "stop",
  };
}

/** The same words sent again may succeed: a provider's trouble is not in the history. */
function failPerhaps(plan: Plan, seed: number, tag: string, tries: Map<string, number>, request: ModelRequest): void {
  const attempt = (tries.get(tag) ?? 0) + 1;
  tries.set(tag, attempt);
  const dice = diceOf(seed, "trouble", tag, attempt);
  if (attempt > 3 || !dice.chance(plan.trouble)) return;
  const limited = dice.chance(0.4);
  const failure = limited
    ? new ModelFailure("rate_limited", "Too many requests.", { retryable: true, retryAfterMs: 90_000 })
    : new ModelFailure("server", "The provider is down.", { retryable: true, status: 500 });
  request.onFailure?.(failure, null);
  throw failure;
}

function nameIn(system: string): string {
  return (/^You are ([^.]+)\./.exec(system)?.[1] ?? "nobody").toLowerCase();
}

export function lastWords(history: readonly Entry[]): string {
  const last = history.at(-1);
  return last === undefined || last.role === "assistant" ? "" : last.content;
}

/** Every node somebody has named in its hearing. */
export function nodesHeardOf(history: readonly Entry[]): string[] {
  const heard = new Set<string>();
  for (const entry of history) {
    if (entry.role !== "assistant") for (const [id] of entry.content.matchAll(/node-\d+/g)) heard.add(id);
  }
  return [...heard];
}

export function callsMade(history: readonly Entry[], name: string): number {
  return history.reduce(
    (sum, entry) => sum + (entry.role === "assistant" ? callsOf(entry).filter((call) => call.name === name).length : 0),
    0,
  );
}
