import { NO_USAGE, type Usage, usagePlus } from "../../../protocol/index.ts";
import type { OutsideEvent } from "../session/session.ts";
import type { AcpQuirks } from "./acp-quirks.ts";
import { tokensSchema, type WireTokens, type WireTurn } from "./acp-wire.ts";
import { UsageEstimate } from "./usage-estimate.ts";

interface Used {
  model: string;
  usage: Usage;
}

interface Told {
  used?: number | null | undefined;
  cost?: { amount: number; currency: string } | null | undefined;
}

/** What an agent's model calls take: estimated while a turn lasts, then as the agent says, if it does. */
export class AcpUsage {
  #model: string;
  /** What it chose last, where it says so. */
  #chosen: string | undefined;
  readonly #quirks: Pick<AcpQuirks, "countsLastCall" | "chooses">;
  readonly #estimate = new UsageEstimate();
  #isEstimated = false;
  /** Of the session, in USD, as far as it was told; null where the agent does not say. */
  #cost: number | null = null;
  #costBefore: number;

  constructor(model: string, costBefore: number, quirks: Pick<AcpQuirks, "countsLastCall" | "chooses">) {
    this.#model = model;
    this.#costBefore = costBefore;
    this.#quirks = quirks;
  }

  /** What is asked next, as far as it is known: where the agent chooses, what it chose last or the dearest. */
  get model(): string {
    return this.#named(this.#model);
  }

  set model(name: string) {
    this.#model = name;
  }

  #named(name: string): string {
    const { chooses = {} } = this.#quirks;
    return Object.hasOwn(chooses, name) ? (this.#chosen ?? chooses[name] ?? name) : name;
  }

  /** Of the session up to the end of its last turn. */
  get cost(): number {
    return this.#costBefore;
  }

  begin(words: string): void {
    this.#estimate.heard(words);
    this.#isEstimated = false;
  }

  /** How full its window is, and what its session has cost. */
  told({ used, cost }: Told): void {
    if (cost?.currency === "USD") this.#cost = cost.amount;
    if (used) this.#estimate.windowIs(used);
  }

  /** Its model writes: if that follows an answer, the call before it is over. */
  writes(characters: number): OutsideEvent[] {
    const before = this.#estimate.isAnswered ? this.callIsOver() : [];
    this.#estimate.wrote(characters);
    return before;
  }

  answered(characters: number): void {
    this.#estimate.answered(characters);
  }

  /** What the call under way probably took. */
  callIsOver(): OutsideEvent[] {
    const usage = this.#estimate.callIsOver();
    if (!usage) return [];
    this.#isEstimated = true;
    return [{ kind: "used", model: this.model, usage, cost_usd: null, estimated: true }];
  }

  /** What the turn took. `cost_usd`: all of it, where that is told and what it was for is not. */
  turnEnded(turn: WireTurn): { events: OutsideEvent[]; cost_usd?: number } {
    const cost = this.#turnCost();
    const [first, ...others] = this.#byModel(turnUsage(turn, this.#model)).filter(
      ({ usage }) => usage.input + usage.output > 0,
    );
    if (!first || this.#quirks.countsLastCall) {
      const last = first ? this.#lastCall(first) : this.callIsOver();
      return { events: last, ...(cost === null ? {} : { cost_usd: cost }) };
    }
    // One call is what was told of it; where others were estimated before it, so is this, and all are corrected.
    const last = this.#isEstimated ? this.callIsOver() : [];
    this.#estimate.callIsOver();
    const corrects = this.#isEstimated ? { corrects: true as const } : {};
    const more = others.map((each) => ({ kind: "used", ...each, cost_usd: cost === null ? null : 0 }) as const);
    return { events: [...last, { kind: "used", ...first, cost_usd: cost, ...corrects }, ...more] };
  }

  /** The agent may tell of a call by what it chose among, after it has told what it chose. */
  #byModel(told: readonly Used[]): Used[] {
    const { chooses = {} } = this.#quirks;
    this.#chosen = told.findLast(({ model }) => !Object.hasOwn(chooses, model))?.model ?? this.#chosen;
    const all = new Map<string, Usage>();
    for (const { model, usage } of told) {
      const name = this.#named(model);
      all.set(name, usagePlus(all.get(name) ?? NO_USAGE, usage));
    }
    return [...all].map(([model, usage]) => ({ model, usage }));
  }

  /** The call under way got no answer from its provider: it costs nothing. */
  callFailed(): void {
    this.#estimate.callIsOver();
  }

  #lastCall(told: Used): OutsideEvent[] {
    this.#estimate.callIsOver();
    return [{ kind: "used", ...told, cost_usd: null }];
  }

  /** Null where the agent does not say: one whose tokens cost nothing does not know their price. */
  #turnCost(): number | null {
    const added = this.#cost === null ? 0 : this.#cost - this.#costBefore;
    this.#costBefore = this.#cost ?? this.#costBefore;
    return added > 0 ? added : null;
  }
}

/** What a turn used, model by model where the agent says so. */
function turnUsage({ usage, _meta }: WireTurn, model: string): Used[] {
  const { model_usage, token_count } = _meta?.quota ?? {};
  return model_usage?.length
    ? model_usage.map(({ model, token_count }) => ({ model, usage: usageOf(token_count) }))
    : [{ model, usage: usageOf(usage ?? token_count ?? tokensSchema.parse({})) }];
}

function usageOf(tokens: WireTokens): Usage {
  const input = tokens.inputTokens ?? tokens.input_tokens ?? 0;
  const output = tokens.outputTokens ?? tokens.output_tokens ?? 0;
  const cache_read = tokens.cachedReadTokens ?? tokens.cachedInputTokens ?? 0;
  const cache_write = tokens.cachedWriteTokens ?? tokens.cacheWriteInputTokens ?? 0;
  // Some count what was cached as part of the input and some beside it; only the total tells which.
  const beside = (tokens.totalTokens ?? 0) >= input + output + cache_read + cache_write ? cache_read + cache_write : 0;
  const reasoning = tokens.thoughtTokens ?? tokens.reasoningOutputTokens ?? 0;
  return { ...NO_USAGE, input: input + beside, output, cache_read, cache_write, reasoning };
}
