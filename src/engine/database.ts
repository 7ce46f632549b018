import pg from "pg";
import { type EngineAddress, EngineError } from "./engine-address.ts";
import { type DatabaseFailure, failureWords } from "./failure-words.ts";

/** One connection, or any of them: runs a statement. */
export interface Queries {
  query<T extends object>(text: string, values?: readonly unknown[]): Promise<T[]>;
}

/**
 * The connections to an engine.
 *
 * DATABASE-1. What PostgreSQL or the network refuses is an EngineError with what to do; the password is in none.
 * DATABASE-2. Names in statements are those of the engine's own schema, whatever the role's search path is.
 * DATABASE-3. A transaction that throws has changed nothing.
 */
export class Database implements Queries, AsyncDisposable {
  readonly address: EngineAddress;
  readonly #pool: pg.Pool;
  readonly #config: pg.ClientConfig;

  constructor(address: EngineAddress, { connections = 4 }: { connections?: number } = {}) {
    this.address = address;
    this.#config = {
      connectionString: address.url,
      application_name: "agiraph",
      connectionTimeoutMillis: CONNECT_MS,
      // A statement that waits longer waits for something that does not end by itself.
      statement_timeout: STATEMENT_MS,
      options: `-c search_path=${address.schema},pg_catalog`,
    };
    this.#pool = new pg.Pool({ ...this.#config, max: connections, idleTimeoutMillis: 30_000, allowExitOnIdle: true });
    // A connection that breaks while nobody uses it is replaced by the next query.
    this.#pool.on("error", () => {});
  }

  async query<T extends object>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.#told(async () => (await this.#pool.query<T>(text, [...values])).rows);
  }

  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#told(async () => {
      const client = await this.#pool.connect();
      let broken: Error | undefined;
      // Between two statements nobody else would hear that the connection broke.
      const breaks = (error: Error) => {
        broken = error;
      };
      client.on("error", breaks);
      try {
        await client.query("begin");
        const result = await work({
          query: async <R extends object>(text: string, values: readonly unknown[] = []) =>
            (await client.query<R>(text, [...values])).rows,
        });
        await client.query("commit");
        return result;
      } catch (error) {
        await client.query("rollback").catch(breaks);
        throw error;
      } finally {
        client.release(broken);
        client.off("error", breaks);
      }
    });
  }

  /** What is said to all connections that use this schema, until the signal fires or the connection breaks. */
  async listen(hear: (words: string) => void, signal: AbortSignal, began: () => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const client = new pg.Client({ ...this.#config, keepAlive: true });
    client.on("error", reject).on("end", resolve);
    client.on("notification", ({ payload = "" }) => hear(payload));
    const stop = () => resolve();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await client.connect();
      await client.query(`listen ${this.address.schema}`);
      if (!signal.aborted) began();
      await (signal.aborted ? undefined : promise);
    } finally {
      signal.removeEventListener("abort", stop);
      await client.end().catch(() => {});
    }
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof EngineError || !(error instanceof Error)) throw error;
      const words = failureWords(error as DatabaseFailure, this.address);
      if (words === undefined) throw error;
      throw new EngineError(words, { cause: error });
    }
  }
}

const CONNECT_MS = 10_000;
const STATEMENT_MS = 60_000;
