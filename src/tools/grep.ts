import { Worker } from "node:worker_threads";
import { z } from "zod";

/** A line of a file: a match, or one next to it. */
export interface GrepLine {
  line: number;
  text: string;
  isMatch: boolean;
}

/** The pattern had not finished within its time limit. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/** Not a regular expression, or one that cannot be used. */
export class UnusablePattern extends Error {
  override readonly name = "UnusablePattern";
}

const answerSchema = z.union([
  z.object({ hits: z.array(z.object({ line: z.int(), text: z.string(), isMatch: z.boolean() })) }),
  z.object({ problem: z.string() }),
]);

/** A pattern in a separate thread: one that takes forever, or all memory, ends the thread and not us. */
export class GrepThread implements AsyncDisposable {
  readonly #thread: Worker;
  readonly #over: Promise<never>;
  readonly #timer: NodeJS.Timeout;

  constructor(
    { pattern, ignore_case }: { pattern: string; ignore_case: boolean },
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ) {
    const file = new URL(`./grep-thread.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
    this.#thread = new Worker(file, {
      workerData: { pattern, ignoreCase: ignore_case },
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64 },
      env: {},
      execArgv: ["--no-warnings"],
      stdout: true,
      stderr: true,
    });
    const { promise, reject } = Promise.withResolvers<never>();
    this.#over = promise;
    // Heard where somebody waits for an answer; when nobody does, it is not news.
    promise.catch(() => {});
    this.#timer = setTimeout(() => reject(new TooSlow("the time was over")), timeoutMs);
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#thread.once("error", (error) => reject(new UnusablePattern(error.message)));
    this.#thread.once("exit", () => {
      signal.removeEventListener("abort", stop);
      reject(new UnusablePattern("its thread ended without an answer"));
    });
  }

  async search(bytes: Buffer, bounds: { most: number; context: number }): Promise<GrepLine[]> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#thread.once("message", resolve);
    this.#thread.postMessage({ bytes, ...bounds });
    const answer = answerSchema.safeParse(await Promise.race([promise, this.#over])).data;
    if (!answer) throw new UnusablePattern("its thread gave no answer that makes sense");
    if ("problem" in answer) throw new UnusablePattern(answer.problem);
    return answer.hits;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#thread.terminate();
  }
}
