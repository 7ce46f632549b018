import { orAbort } from "../boundary/or-abort.ts";
import type { Catalog } from "../models/catalog/catalog.ts";
import type { Model } from "../models/model.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Fact } from "../protocol/index.ts";

/** The same models, which wait while turns are held. */
export function heldCatalog(catalog: Catalog, hold: TurnHold): Catalog {
  return {
    model: async (id) => hold.guarded(await catalog.model(id)),
    resolve: (id) => catalog.resolve(id),
    programOf: (id) => catalog.programOf(id),
    list: () => catalog.list(),
    chooseDefault: () => catalog.chooseDefault(),
    cost: (id, usage) => catalog.cost(id, usage),
  };
}

/** How long turns that are under way may take before they are cut off. */
const PATIENCE_MS = 120_000;
/** So long nothing has happened: nobody is between a reply and its calls. */
const QUIET_MS = 2000;
const LOOK_MS = 250;
/** What these wait for may take days, and they go on waiting elsewhere. */
const WAITS: ReadonlySet<string> = new Set(["ask_human", "check_messages"]);

/**
 * Lets the turns that are under way end and no new one begin, before the agents of this process go elsewhere.
 *
 * TURN-HOLD-1. While it is on no model is asked; who would ask waits, and is cancelled when its agent is closed.
 */
export class TurnHold {
  readonly #clock: Clock;
  readonly #calls = new Set<string>();
  #underWay = 0;
  #ended = Promise.resolve();
  #goOn: (() => void) | undefined;
  #lastNews = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOn(): boolean {
    return this.#goOn !== undefined;
  }

  begin(): void {
    if (this.#goOn) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    this.#goOn = resolve;
  }

  end(): void {
    this.#goOn?.();
    this.#goOn = undefined;
  }

  /** What happens here: the calls of a turn belong to it. */
  note(fact: Pick<Fact, "agent_id" | "type" | "data">): void {
    this.#lastNews = this.#clock.now();
    if (fact.type === "tool.called" || fact.type === "tool.result") {
      const call = `${fact.agent_id} ${"call_id" in fact.data ? fact.data.call_id : ""}`;
      const isWaiting = "tool" in fact.data && WAITS.has(fact.data.tool);
      if (fact.type === "tool.called" && !isWaiting) this.#calls.add(call);
      else this.#calls.delete(call);
    }
  }

  /** The same model, asked only while turns are not held. */
  guarded(model: Model): Model {
    const { id, contextWindow, searchesWeb, seesPictures = false } = model;
    const reply: Model["reply"] = async (request, signal) => {
      while (this.isOn) await orAbort(this.#ended, signal);
      this.#underWay++;
      try {
        return await model.reply(request, signal);
      } finally {
        this.#underWay--;
        this.#lastNews = this.#clock.now();
      }
    };
    return { id, contextWindow, searchesWeb, seesPictures, reply };
  }

  /** When the turns that were under way have ended, with their tools; or when they have taken too long. */
  async quiet(signal: AbortSignal): Promise<void> {
    const began = this.#clock.now();
    while (!signal.aborted && this.isOn) {
      const now = this.#clock.now();
      const isQuiet = this.#underWay + this.#calls.size === 0 && now - Math.max(this.#lastNews, began) >= QUIET_MS;
      if (isQuiet || now - began >= PATIENCE_MS) return;
      await this.#clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }
}
