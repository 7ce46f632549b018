import { type Model, ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import { callsOf, type Entry, NO_USAGE, type ReplyEntry } from "../../src/protocol/index.ts";

type Call = [name: string, args: Record<string, unknown>];
/** Calls to be made together, or waiting for the team. */
type Step = Call[] | "poll";

/**
 * A mind that watches something for a year as a real one does: on most days it finds nothing to do, on others it looks,
 * searches its memory, writes, hands out work and polls for it; it answers mail, does the upkeep of its memory, and
 * writes things down when it is asked to, and then goes on with the work of the day. Its provider is away now and then.
 * What is limited in each cycle it does more often in a year than one cycle allows: stages, the same look, and what it
 * is shown.
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
  /** On how many days it had work of each kind. */
  readonly days = { quiet: 0, checkpoint: 0, busy: 0, team: 0, look: 0, book: 0 };
  upkeeps = 0;
  /** What is left of the work of the day. */
  #left: Step[] = [];
  #begun = 0;
  #hasNews = false;
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
    const last = history.findLast(({ role }) => role === "user" || role === "summary");
    if (last?.role === "user" && last.flush) {
      const isWritten = history.at(-1) !== last;
      return isWritten ? "All is written." : [note("What I do: watch.")];
    }
    const told = history.slice(history.findLastIndex(({ role }) => role === "assistant") + 1);
    const news = told.flatMap((entry) => (entry.role === "user" ? entry.content : [])).join("\n");
    if (news.includes("The next cycle begins.") && this.#begun !== this.day) this.#begin();
    if (news.includes("completed by")) this.#hasNews = true;
    if (news.includes("Upkeep of your memory.")) return this.#upkeep(news);
    if (news.includes("How is it going?")) return "All is well.";
    return this.#work();
  }

  /** What comes between, as the upkeep or a summary, takes nothing of it away. */
  #begin(): void {
    const kind = kindOf(this.day);
    this.#begun = this.day;
    this.#hasNews = false;
    this.#left = stepsOf(kind, this.day);
    this.days[kind] += 1;
  }

  #work(): string | Call[] {
    if (this.#left[0] === "poll" && this.#hasNews) this.#left.shift();
    const step = this.#left[0] === "poll" ? "poll" : this.#left.shift();
    return step === "poll" ? [["check_board", {}]] : (step ?? "Nothing to do.");
  }

  /** It keeps a line for the days that it was shown, and answers as it was asked to. */
  #upkeep(said: string): Call[] {
    const [, path, line] = /append this line to (\S+), .*?"(Distilled: [\d, -]+)"/.exec(said) ?? [];
    if (!path || !line) throw new Error(`the upkeep was not asked for in words that I know: ${said.slice(0, 200)}`);
    this.upkeeps += 1;
    if (this.#left.length === 0) this.#left = [checkpoint("The memory is in order.")];
    const lesson = { path: "knowledge/changes.md", content: `Nothing special: ${line.slice(11)}` };
    return [
      ["memory_write", lesson],
      ["memory_write", { path, content: line, mode: "append" }],
    ];
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

/** Together more than half of the model's window, and more than an infinite agent is shown. */
const CHAPTERS = 10;
const CHAPTER_BYTES = 45_000;

function stepsOf(kind: ReturnType<typeof kindOf>, day: number): Step[] {
  switch (kind) {
    case "quiet":
      return [];
    case "checkpoint":
      return [checkpoint("Nothing new.")];
    case "busy":
      return [
        [["list_files", { path: "" }]],
        [["memory_search", { query: "what changed" }]],
        [note(`Day ${day}: ${"it changed a little. ".repeat(20)}`), ["list_triggers", {}]],
        checkpoint(`Day ${day}: written down.`),
      ];
    case "team":
      return [
        [["create_work_node", { task: `Measure on day ${day}` }]],
        "poll",
        [["reconvene", { assessment: `Day ${day} is measured.` }]],
        checkpoint(`Day ${day}: measured.`),
      ];
    case "look":
      // With the same answer on every day.
      return [[["list_files", { path: "output" }]], checkpoint("As before.")];
    case "book":
      return [...Array.from({ length: CHAPTERS }, (_, at) => [chapter(at + 1)]), checkpoint("The book is written.")];
  }
}

function chapter(number: number): Call {
  return ["write_file", { path: `output/${number}.md`, content: "word ".repeat(CHAPTER_BYTES / 5) }];
}

function note(content: string): Call {
  return ["memory_write", { content }];
}

function checkpoint(summary: string): Call[] {
  return [["checkpoint", { summary }]];
}

/** Most days are quiet; twice a month there is work for a team, and once a year the same look on each of fourteen days. */
export function kindOf(day: number): "quiet" | "checkpoint" | "busy" | "team" | "look" | "book" {
  if (day % 365 >= 100 && day % 365 < 114) return "look";
  if (day % 180 === 60) return "book";
  if (day % 15 === 10) return "team";
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
