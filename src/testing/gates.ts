/** Points at which answers wait until a test releases them. A gate that was released stays open. */
export class HoldPoints {
  readonly #gates = new Map<string, Gate>();

  /** Resolves when the gate is open, or when the one who waits has gone. */
  async pass(name: string, gone: Promise<unknown>): Promise<void> {
    const gate = this.#gate(name);
    gate.arrivals++;
    for (const watcher of gate.watchers) if (gate.arrivals >= watcher.count) watcher.resolve();
    await Promise.race([gate.opened.promise, gone]);
  }

  release(name: string): void {
    this.#gate(name).opened.resolve();
  }

  /** Resolves when at least `count` answers have come to the gate. */
  reached(name: string, count = 1): Promise<void> {
    const gate = this.#gate(name);
    if (gate.arrivals >= count) return Promise.resolve();
    return new Promise((resolve) => gate.watchers.push({ count, resolve }));
  }

  #gate(name: string): Gate {
    const gate = this.#gates.get(name) ?? { arrivals: 0, opened: Promise.withResolvers<void>(), watchers: [] };
    this.#gates.set(name, gate);
    return gate;
  }
}

interface Gate {
  arrivals: number;
  opened: PromiseWithResolvers<void>;
  watchers: { count: number; resolve: () => void }[];
}
