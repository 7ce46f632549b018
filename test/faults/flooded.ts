import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Config } from "../../src/protocol/config.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { TOKEN } from "../../src/testing/start-server.ts";

export interface Memory {
  /** Of the process, with the pages that V8 keeps for later. */
  rss: number;
  /** By objects and buffers. */
  used: number;
  sockets: number;
  /** Bytes that wait in all WebSockets together. */
  waiting: number;
}

/** What others got who asked for /healthz and /agents meanwhile, in milliseconds. */
export interface Bystanders {
  asked: number;
  notAnswered: number;
  p50: number;
  p99: number;
}

/** A server in a process of its own that is flooded, and those who ask it something meanwhile. */
export class Flooded implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #over: Promise<never>;
  readonly #remove: () => Promise<void>;
  url = "";
  proxy = 0;
  agent = "";
  seq = 0;

  private constructor(child: ChildProcess, remove: () => Promise<void>) {
    this.#child = child;
    this.#remove = remove;
    const said: string[] = [];
    child.stderr?.on("data", (chunk: Buffer) => said.push(String(chunk)));
    this.#over = once(child, "close").then(() => Promise.reject(new Error(`The server ended: ${said.join("")}`)));
    this.#over.catch(() => {});
  }

  static async start({ facts, bytes }: { facts: number; bytes: number }, config: Config): Promise<Flooded> {
    const home = await temporaryHome();
    const child = fork(
      join(import.meta.dirname, "flood-child.ts"),
      [home.path, String(facts), String(bytes), JSON.stringify(config)],
      {
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        execArgv: ["--expose-gc"],
      },
    );
    const flooded = new Flooded(child, () => home.remove());
    return Object.assign(flooded, await flooded.#heard());
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** After a collection, which stops the server: not while others are measured. */
  memory(): Promise<Memory> {
    return this.#asked("memory after a collection");
  }

  /** As it is, garbage included. */
  memoryMeanwhile(): Promise<Memory> {
    return this.#asked("memory");
  }

  async #asked(what: string): Promise<Memory> {
    const heard = this.#heard();
    this.#child.send(what);
    return (await heard) as unknown as Memory;
  }

  /** The flood, and what a bystander in a process of its own saw of it. */
  async during(flood: () => Promise<unknown>): Promise<Bystanders> {
    const bystander = fork(join(import.meta.dirname, "flood-bystander.ts"), [this.url, TOKEN]);
    const heard = async () => (await this.whileUp(once(bystander, "message")))[0] as unknown;
    await heard();
    await flood();
    const seen = heard();
    bystander.send("stop");
    return (await seen) as Bystanders;
  }

  whileUp<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over]);
  }

  async #heard(): Promise<object> {
    const [message] = await this.whileUp(once(this.#child, "message"));
    return message as object;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#over.catch(() => {});
    await this.#remove();
  }
}
