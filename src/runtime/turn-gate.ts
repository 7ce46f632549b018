import { orAbort } from "../boundary/or-abort.ts";
import type { Catalog } from "../models/catalog/catalog.ts";
import type { Model } from "../models/model.ts";
import type { Clock } from "../protocol/clock.ts";

/** The same models, behind a gate. */
export function gatedCatalog(catalog: Catalog, gate: TurnGate): Catalog {
  return {
    model: async (id) => gate.guarded(await catalog.model(id)),
    resolve: (id) => catalog.resolve(id),
    programOf: (id) => catalog.programOf(id),
    list: () => catalog.list(),
    chooseDefault: () => catalog.chooseDefault(),
    cost: (id, usage) => catalog.cost(id, usage),
  };
}

/** How long turns that are under way may take before they are cut off. */
const PATIENCE_MS = 120_000;
/** So long nothing has happened: tools of the last turns have ended too. */
const QUIET_MS = 2000;
const LOOK_MS = 250;

/**
 * Lets the turns that are under way end and no new one begin, before the agents of this process go elsewhere.
 *
 * TURN-GATE-1. While it is closed no model is asked; who would ask waits, and is cancelled when its agent is closed.
 */
export class TurnGate {
  readonly #clock: Clock;
  #underWay = 0;
  #opened = Promise.resolve();
  #open: (() => void) | undefined;
  #lastNews = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isClosed(): boolean {
    return this.#open !== undefined;
  }

  close(): void {
    if (this.#open) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opened = promise;
    this.#open = resolve;
  }

  open(): void {
    this.#open?.();
    this.#open = undefined;
  }

  /** Something happened here: a turn, or a tool of one. */
  note(): void {
    this.#lastNews = this.#clock.now();
  }

  /** The same model, asked only while the gate is open. */
  guarded(model: Model): Model {
    const { id, contextWindow, searchesWeb, seesPictures = false } = model;
    const reply: Model["reply"] = async (request, signal) => {
      while (this.isClosed) await orAbort(this.#opened, signal);
      this.#underWay++;
      try {
        return await model.reply(request, signal);
      } finally {
        this.#underWay--;
        this.note();
      }
    };
    return { id, contextWindow, searchesWeb, seesPictures, reply };
  }

  /** When the turns that were under way have ended, with their tools; or when they have taken too long. */
  async quiet(signal: AbortSignal): Promise<void> {
    const began = this.#clock.now();
    while (!signal.aborted && this.isClosed) {
      const now = this.#clock.now();
      const isQuiet = this.#underWay === 0 && now - Math.max(this.#lastNews, began) >= QUIET_MS;
      if (isQuiet || now - began >= PATIENCE_MS) return;
      await this.#clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }
}
