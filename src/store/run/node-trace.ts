import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Board, NodeState } from "../../projections/index.ts";
import type { Fact, NodeId } from "../../protocol/index.ts";
import { nodeDir } from "../paths.ts";
import type { AgentLog } from "../store.ts";

/**
 * If this many nodes have news at once, their traces are written at intervals: people see no difference, and each turn
 * opens one file less.
 */
const MANY = 20;
const REST_MS = 250;

/**
 * Each node's `log.jsonl`: the facts about that node, beside its files. Derived from the agent's log, so it is written
 * without a sync and rebuilt if it is missing or behind.
 */
export class NodeTraces {
  readonly #agentDir: string;
  readonly #board: () => Board;
  readonly #pending = new Map<NodeId, string>();
  #due = false;
  #busy = false;

  constructor(agentDir: string, board: () => Board) {
    this.#agentDir = agentDir;
    this.#board = board;
  }

  note(fact: Fact): void {
    const id = nodeOf(fact);
    if (!id) return;
    if (!this.#due) {
      this.#due = true;
      if (this.#busy) setTimeout(() => this.flush(), REST_MS).unref();
      else setImmediate(() => this.flush());
    }
    this.#pending.set(id, `${this.#pending.get(id) ?? ""}${JSON.stringify(fact)}\n`);
  }

  /** Compares every node's trace with the board and rewrites those that are behind. */
  async repair(log: AgentLog): Promise<void> {
    this.flush();
    const behind = new Map<NodeId, string>();
    for (const node of Object.values(this.#board().nodes)) {
      if (!isComplete(this.#fileOf(node.id), node)) behind.set(node.id, "");
    }
    if (behind.size === 0) return;
    for (let after = 0; ; ) {
      const page = await log.read({ after, limit: 5000 });
      for (const fact of page) {
        const id = nodeOf(fact);
        const text = id ? behind.get(id) : undefined;
        if (id && text !== undefined) behind.set(id, `${text}${JSON.stringify(fact)}\n`);
      }
      const last = page.at(-1);
      if (!last || page.length < 5000) break;
      after = last.seq;
    }
    for (const [id, text] of behind) tolerantly(() => writeFileSync(this.#fileOf(id), text, { mode: 0o600 }));
  }

  /** Writes what is waiting; what has no folder yet goes on waiting. */
  flush(): void {
    this.#due = false;
    this.#busy = this.#pending.size > MANY;
    for (const [id, text] of this.#pending) {
      if (tolerantly(() => appendFileSync(this.#fileOf(id), text, { mode: 0o600 })) !== "no folder")
        this.#pending.delete(id);
    }
  }

  #fileOf(id: NodeId): string {
    const run = this.#board().nodes[id]?.spec.run_id ?? "run-1";
    return join(nodeDir(this.#agentDir, run, id), "log.jsonl");
  }
}

function nodeOf(fact: Fact): NodeId | null {
  return ("node_id" in fact.data ? fact.data.node_id : null) ?? null;
}

/** As many facts as the board has counted, up to the newest, the last line whole. */
function isComplete(file: string, { facts, last_seq }: NodeState): boolean {
  try {
    const text = readFileSync(file, "utf8");
    const lines = text.split("\n").slice(0, -1);
    return text.endsWith("\n") && lines.length === facts && (lines.at(-1)?.startsWith(`{"seq":${last_seq},`) ?? false);
  } catch {
    return false;
  }
}

/** A trace that cannot be written now is made again at the next start; the log has everything. */
function tolerantly(write: () => void): "written" | "no folder" | "failed" {
  try {
    write();
    return "written";
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT" ? "no folder" : "failed";
  }
}
