import { didYouMean } from "../boundary/nearest.ts";
import type { ToolSpec } from "../models/model.ts";
import type { CallPart, ResultEntry } from "../protocol/index.ts";
import { refusal, type Tool, type ToolOutput } from "./tool.ts";

export interface Tools {
  /** As they are now: what comes from elsewhere may change between turns. */
  readonly specs: readonly ToolSpec[];
  run(call: CallPart, signal: AbortSignal): Promise<ResultEntry>;
  /** After a crash: a call that may be repeated is, any other is answered with what we know. */
  recover(call: CallPart, signal: AbortSignal): Promise<ResultEntry>;
}

/**
 * TOOLBOX-1. Every call gets exactly one result, whatever the model sent and whatever the tool did.
 * TOOLBOX-2. A failed tool is a result, not a throw; only a stop (the signal) is passed on.
 * TOOLBOX-3. A foreign tool never takes the name of one of ours.
 * TOOLBOX-4. `specs` is the same list until one of its tools changes, so that the text of a list is built once.
 */
export class Toolbox implements Tools {
  readonly #own: ReadonlyMap<string, Tool>;
  readonly #foreign: () => readonly Tool[];
  #specs: readonly ToolSpec[] = [];

  /** `foreign` is asked again at every turn. */
  constructor(tools: readonly Tool[], foreign: () => readonly Tool[] = () => []) {
    this.#own = new Map(tools.map((tool) => [tool.spec.name, tool]));
    this.#foreign = foreign;
  }

  get specs(): readonly ToolSpec[] {
    const specs = [...this.#all().values()].filter(({ hidden }) => !hidden).map((tool) => tool.spec);
    const isSame = specs.length === this.#specs.length && specs.every((spec, at) => spec === this.#specs[at]);
    if (!isSame) this.#specs = specs;
    return this.#specs;
  }

  #all(): ReadonlyMap<string, Tool> {
    const foreign = this.#foreign().filter(({ spec }) => !this.#own.has(spec.name));
    if (foreign.length === 0) return this.#own;
    return new Map([...this.#own, ...foreign.map((tool) => [tool.spec.name, tool] as const)]);
  }

  async run(call: CallPart, signal: AbortSignal): Promise<ResultEntry> {
    const output = await this.#outputOf(call, signal);
    const { content, ok = true, ending, picture } = typeof output === "string" ? { content: output } : output;
    const said = { role: "tool", call_id: call.id, tool: call.name, content, ok } as const;
    return { ...said, ...(ending && { ending }), ...(picture && { picture }) };
  }

  async recover(call: CallPart, signal: AbortSignal): Promise<ResultEntry> {
    // A tool from elsewhere that is not there now was there when it was called.
    const isRepeatable = this.#all().get(call.name)?.repeatable ?? !call.name.startsWith("mcp__");
    if (isRepeatable) return this.run(call, signal);
    return {
      role: "tool",
      call_id: call.id,
      tool: call.name,
      ok: false,
      content:
        "Outcome unknown: Agiraph was interrupted while this call ran. It no longer runs, and it was not run again. " +
        "Look at what it may have changed before you decide whether to repeat it.",
    };
  }

  async #outputOf(call: CallPart, signal: AbortSignal): Promise<ToolOutput> {
    const tools = this.#all();
    const tool = tools.get(call.name);
    if (!tool) return refusal(unknownTool(call.name, [...tools.keys()]));
    if (typeof call.args === "string") {
      return refusal(`The arguments of ${call.name} were not valid JSON. Send them again as one JSON object.`);
    }
    const parsed = tool.parse(call.args);
    if (!parsed.ok) return refusal(`${call.name} did not run, its arguments were wrong:\n${parsed.problem}`);
    try {
      return await tool.run(parsed.args, signal, call);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return refusal(`${call.name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

function unknownTool(name: string, known: readonly string[]): string {
  const have = known.length === 0 ? "You have no tools." : `You have: ${known.join(", ")}.`;
  return `There is no tool "${name.slice(0, 100)}".${didYouMean(name, known)} ${have}`;
}
