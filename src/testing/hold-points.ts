/** Points at which answers wait until a test releases them. A point that was released holds nothing any more. */
export class HoldPoints {
  readonly #points = new Map<string, HoldPoint>();

  /** Resolves when the point was released, or when the one who waits has gone. */
  async pass(name: string, gone: Promise<unknown>): Promise<void> {
    const point = this.#point(name);
    point.arrivals++;
    for (const watcher of point.watchers) if (point.arrivals >= watcher.count) watcher.resolve();
    await Promise.race([point.released.promise, gone]);
  }

  release(name: string): void {
    this.#point(name).released.resolve();
  }

  /** Resolves when at least `count` answers have come to the point. */
  reached(name: string, count = 1): Promise<void> {
    const point = this.#point(name);
    if (point.arrivals >= count) return Promise.resolve();
    return new Promise((resolve) => point.watchers.push({ count, resolve }));
  }

  #point(name: string): HoldPoint {
    const point = this.#points.get(name) ?? { arrivals: 0, released: Promise.withResolvers<void>(), watchers: [] };
    this.#points.set(name, point);
    return point;
  }
}

interface HoldPoint {
  arrivals: number;
  released: PromiseWithResolvers<void>;
  watchers: { count: number; resolve: () => void }[];
}
