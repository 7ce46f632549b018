import type { ApiClient } from "../../client/client.ts";
import { apply, isAtWork, type Situation } from "../../projections/index.ts";
import type { Fact } from "../../protocol/index.ts";
import { askControl } from "../../runtime/human/control.ts";
import { controlPath } from "../../runtime/human/control-path.ts";
import { situationOf } from "../../runtime/state/situations.ts";
import type { AgentLog } from "../../store/store.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import { Refusal } from "../exit-code.ts";
import type { Watched } from "../live/watch-team.ts";
import { sayElsewhere } from "../talk/speaker.ts";
import { liveHolder } from "./look.ts";
import { ServedWords } from "./served-words.ts";

const LOOK_MS = 1000;
const MOST_MISSED = 5;

/**
 * An agent that works in the server's process, as a terminal sees it: what happens is read from its log, streamed words
 * come by its socket, what the person says goes to the server. So a terminal that closes takes nothing with it.
 */
export class ServedAgent implements Watched {
  readonly now: Situation;
  readonly log: Watched["log"];
  readonly #home: string;
  readonly #server: ApiClient;
  readonly #words: ServedWords;
  readonly #listeners = new Set<(fact: Fact) => void>();
  readonly #leaving = new AbortController();
  readonly #following: Promise<void>;
  readonly #gone = Promise.withResolvers<never>();

  private constructor(home: string, server: ApiClient, log: AgentLog, now: Situation) {
    this.#home = home;
    this.#server = server;
    this.now = now;
    const { dir } = log;
    const self = this;
    this.#words = new ServedWords(log, () => this.now.roster);
    this.log = {
      dir,
      get seq() {
        return self.now.seq;
      },
      read: async (range) => {
        const facts = await log.read(range);
        for (const fact of facts) await this.#words.prepare(fact);
        return facts;
      },
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    // Waiting for another process' file keeps nobody alive by itself; this does.
    const looking = this.#lookForServer();
    this.#following = this.#follow(log).finally(() => clearInterval(looking));
    this.#gone.promise.catch(() => {});
  }

  /** The log as another process writes it. */
  static async open(home: string, server: ApiClient, log: AgentLog): Promise<ServedAgent> {
    return new ServedAgent(home, server, log, await situationOf(log));
  }

  onDelta(listener: (delta: Delta) => void): () => void {
    this.#words.listener = listener;
    return this.#server.onDelta(this.now.agent.id, this.now.seq, (delta, after) => this.#words.hear(delta, after));
  }

  meet(fact: Fact): void {
    this.#words.meet(fact);
  }

  send(text: string, to?: string): Promise<string> {
    return this.#say({ do: "send", text, to });
  }

  respond(text: string, question_id?: string): Promise<string> {
    return this.#say({ do: "respond", text, question_id });
  }

  nudge(text: string): Promise<string> {
    return this.#say({ do: "nudge", text });
  }

  changeModels({ model }: { model: string }): Promise<string> {
    return this.#say({ do: "model", model });
  }

  async stop(): Promise<void> {
    await askControl(controlPath(this.#home), { do: "stop", agent: this.now.agent.id });
  }

  async seen(): Promise<void> {
    await askControl(controlPath(this.#home), { do: "seen", agent: this.now.agent.id });
  }

  /** Resolves when it no longer works. */
  idle(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (this.now.agent.run === null || isAtWork(this.now.agent.status)) return;
      this.#listeners.delete(look);
      resolve();
    };
    this.#listeners.add(look);
    Promise.race([this.#following, this.#gone.promise]).catch(reject);
    look();
    return promise;
  }

  close(): void {
    this.#leaving.abort();
  }

  /** One that was killed says nothing more. One that is started again soon takes the work up, and this looks on. */
  #lookForServer(): NodeJS.Timeout {
    let missed = 0;
    return setInterval(() => {
      missed = liveHolder(this.#home) === undefined ? missed + 1 : 0;
      if (missed < MOST_MISSED) return;
      const { id, created } = this.now.agent;
      this.#gone.reject(
        new Refusal(
          `The server at ${this.#server.url} has ended. What was done is kept: ${created.name} (${id}) continues when the server is started again, or with \`agiraph resume ${id}\`.`,
        ),
      );
    }, LOOK_MS);
  }

  async #say(saying: Parameters<typeof sayElsewhere>[2]): Promise<string> {
    const heard = await sayElsewhere(this.#home, this.now.agent.id, saying);
    if (heard === undefined) throw new Error("The server has ended.");
    return heard;
  }

  async #follow(log: AgentLog): Promise<void> {
    for await (const fact of log.follow(this.now.seq, this.#leaving.signal)) {
      await this.#words.prepare(fact);
      apply(this.now, fact);
      for (const listener of this.#listeners) listener(fact);
    }
  }
}
