import { type Model, ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import { callsOf, type Entry, NO_USAGE, type ReplyEntry } from "../../src/protocol/index.ts";

type Call = [name: string, args: Record<string, unknown>];

/**
 * A mind that watches something for a year as a real one does: on most days it finds nothing to do, on others it looks,
 * searches its memory, writes, hands out work and polls for it; it answers mail, does the upkeep of its memory, and
 * writes things down when it is asked to. Its provider is away now and then.
 */
export class YearlongMind implements Model {
  readonly id = "scripted/coordinator";
  readonly contextWindow = 200_000;
  readonly searchesWeb = false;
  day = 0;
  isAway = false;
  readonly sizes: number[] = [];
  readonly systems = new Set<string>();
  /** Calls on each day, and the bytes of all their requests. */
  readonly calls: number[] = [];
  readonly bytes: number[] = [];
  upkeeps = 0;
  #number = 0;

  async reply(request: ModelRequest): Promise<ReplyEntry> {
    if (this.isAway) throw new ModelFailure("server", "The provider is away.", { retryable: true });
    const { system, history, tools } = request;
    const said = history.map(({ role, content }) => [role, content]);
    const size = Buffer.byteLength(JSON.stringify([system, said, tools]));
    this.sizes.push(size);
    this.bytes[this.day] = (this.bytes[this.day] ?? 0) + size;
    this.systems.add(system);
    this.calls[this.day] = (this.calls[this.day] ?? 0) + 1;
    return this.#saying(this.#next(history));
  }

  #next(history: readonly Entry[]): string | Call[] {
    const at = history.findLastIndex((entry) => entry.role === "user" || entry.role === "summary");
    const told = history[at];
    const said = told && "content" in told && typeof told.content === "string" ? told.content : "";
    const turn = history.slice(at + 1).filter((entry) => entry.role === "assistant").length;
    if (told?.role === "user" && told.flush) return turn === 0 ? [this.#note("What I do: watch.")] : "All is written.";
    if (said.includes("Upkeep of your memory.")) return this.#upkeep(said, turn);
    if (said.includes("node-") && said.includes("completed by")) return this.#reconvene(turn);
    if (said.includes("How is it going?")) return "All is well.";
    return this.#cycle(turn, history);
  }

  #cycle(turn: number, history: readonly Entry[]): string | Call[] {
    const kind = kindOf(this.day);
    if (kind === "quiet") return "Nothing to do.";
    if (kind === "checkpoint") return [["checkpoint", { summary: "Nothing new." }]];
    if (kind === "team") return this.#handOut(history);
    const steps: Call[][] = [
      [["list_files", { path: "" }]],
      [["memory_search", { query: "what changed" }]],
      [this.#note(`Day ${this.day}: ${"it changed a little. ".repeat(20)}`), ["list_triggers", {}]],
      [["checkpoint", { summary: `Day ${this.day}: written down.` }]],
    ];
    return steps[turn] ?? "That is all.";
  }

  /** It polls until there is news. */
  #handOut(history: readonly Entry[]): Call[] {
    const task = `Measure on day ${this.day}`;
    const isGiven = history.some(
      (entry) =>
        entry.role === "assistant" &&
        callsOf(entry).some(({ args }) => JSON.stringify(args) === JSON.stringify({ task })),
    );
    return isGiven ? [["check_board", {}]] : [["create_work_node", { task }]];
  }

  #reconvene(turn: number): Call[] {
    const steps: Call[] = [
      ["reconvene", { assessment: `Day ${this.day} is measured.` }],
      ["checkpoint", { summary: `Day ${this.day}: measured.` }],
    ];
    return [steps[Math.min(turn, 1)] as Call];
  }

  /** It keeps a line for the days that it was shown, and answers as it was asked to. */
  #upkeep(said: string, turn: number): Call[] {
    if (turn > 0) return [["checkpoint", { summary: "The memory is in order." }]];
    const [, path, line] = /append this line to (\S+), .*?"(Distilled: [\d, -]+)"/.exec(said) ?? [];
    if (!path || !line) throw new Error(`the upkeep was not asked for in words that I know: ${said.slice(0, 200)}`);
    this.upkeeps += 1;
    const lesson = { path: "knowledge/changes.md", content: `Nothing special: ${line.slice(11)}` };
    return [
      ["memory_write", lesson],
      ["memory_write", { path, content: line, mode: "append" }],
    ];
  }

  #note(content: string): Call {
    return ["memory_write", { content }];
  }

  #saying(next: string | Call[]): ReplyEntry {
    const content =
      typeof next === "string"
        ? [{ type: "text" as const, text: next }]
        : next.map(([name, args]) => ({ type: "call" as const, id: `call-${++this.#number}`, name, args }));
    const finish = typeof next === "string" ? "stop" : "tool-calls";
    return { role: "assistant", content, model: this.id, usage: NO_USAGE, cost_usd: 0, finish };
  }
}

/** Most days are quiet; once a month there is work for a team. */
export function kindOf(day: number): "quiet" | "checkpoint" | "busy" | "team" {
  if (day % 30 === 10) return "team";
  if (day % 7 === 3) return "busy";
  return day % 7 === 5 ? "checkpoint" : "quiet";
}

/** Whoever is hired: writes a file and publishes it. */
export const diligentWorker: Model = {
  id: "scripted/worker",
  contextWindow: 200_000,
  searchesWeb: false,
  async reply({ history }) {
    const last = history.findLast((entry) => entry.role === "assistant");
    const wrote = last?.role === "assistant" && callsOf(last).some(({ name }) => name === "write_file");
    const [name, args] = wrote
      ? ["publish", { summary: "80" }]
      : ["write_file", { path: "scratch/a.md", content: "80" }];
    const content = [{ type: "call" as const, id: `w${history.length}`, name, args }];
    return { role: "assistant", content, model: "scripted/worker", usage: NO_USAGE, cost_usd: 0, finish: "tool-calls" };
  },
};
