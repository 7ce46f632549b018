export type Loaded<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; problem: string };

export interface LoaderPorts<T> {
  show(loaded: Loaded<T>): void;
  /** How often the connection has been opened, and who is told when that changes. */
  server: { readonly opened: number; subscribe(listener: () => void): () => void };
}

/**
 * Loads something, and again whenever it may have changed: one request at a time.
 *
 * PAGE-LOAD-1. What has been loaded is shown, also if it may have changed meanwhile; it is then loaded once more. Where
 *     changes come faster than answers, nothing would be shown otherwise.
 * PAGE-LOAD-2. After a failure it is loaded again as soon as the server is back. A request from before a lost connection
 *     is not waited for: it may never be answered.
 * PAGE-LOAD-3. After its end it shows nothing and loads nothing.
 */
export class Loader<T> {
  readonly #ports: LoaderPorts<T>;
  #next: (() => Promise<T>) | undefined;
  #isLoading = false;
  #hasEnded = false;
  /** Of the connection on which the latest request was made, and which request that was. */
  #opened = 0;
  #round = 0;
  #forget = () => {};

  constructor(ports: LoaderPorts<T>) {
    this.#ports = ports;
  }

  load(request: () => Promise<T>): void {
    this.#next = request;
    if (!this.#isLoading || this.#ports.server.opened !== this.#opened) void this.#run();
  }

  end(): void {
    this.#hasEnded = true;
    this.#forget();
  }

  async #run(): Promise<void> {
    this.#isLoading = true;
    while (this.#next && !this.#hasEnded) {
      const request = this.#next;
      this.#next = undefined;
      this.#forget();
      this.#opened = this.#ports.server.opened;
      this.#round += 1;
      const round = this.#round;
      const loaded = await outcomeOf(request);
      if (this.#hasEnded || round !== this.#round) return;
      this.#ports.show(loaded);
      if (loaded.state === "failed") this.#next ??= this.#whenBack(request);
    }
    this.#isLoading = false;
  }

  /** The request itself if the server is back already; otherwise it is made once it is. */
  #whenBack(request: () => Promise<T>): (() => Promise<T>) | undefined {
    const { server } = this.#ports;
    const isBack = () => server.opened !== this.#opened;
    if (isBack()) return request;
    this.#forget = server.subscribe(() => {
      if (isBack()) this.load(request);
    });
    return undefined;
  }
}

async function outcomeOf<T>(request: () => Promise<T>): Promise<Loaded<T>> {
  try {
    return { state: "ready", value: await request() };
  } catch (error) {
    return { state: "failed", problem: error instanceof Error ? error.message : String(error) };
  }
}
