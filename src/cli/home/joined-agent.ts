import { setTimeout } from "node:timers/promises";
import type { Onlooker } from "../../client/client.ts";
import { HeardWords } from "../../client/heard-words.ts";
import { ApiError } from "../../client/transport.ts";
import { apply, isAtWork, type Situation } from "../../projections/index.ts";
import type { DeltaFrame } from "../../protocol/api/events.ts";
import type { Fact } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { situationOf } from "../../runtime/state/situations.ts";
import type { AgentLog } from "../../store/store.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import { Refusal } from "../exit-code.ts";
import { AT_TERMINAL, commandLine, type Invocation } from "../invocation.ts";
import { watchFacts } from "../live/watch-facts.ts";
import type { WatchedAgent } from "../talk/watch-team.ts";
import { triesAgain } from "../wording/resting.ts";
import { LocalHome } from "./local-home.ts";
import { isServer, type OtherProcess, otherProcess } from "./other-process.ts";
import { isPassing } from "./reach-home.ts";

const LOOK_MS = 200;
/** The longest pause between two connections. */
const LONGEST_PAUSE_MS = 3200;
/** A server that was killed is often restarted, and then resumes the work itself. */
const SERVER_RETURNS_MS = 5000;

/** An agent, and the last fact of it that has been shown. */
interface ShownAgent {
  log: AgentLog;
  after: number;
  /** Waits before the next connection. */
  pause?: typeof pauseFor;
}

/**
 * An agent that works in another process, as a terminal sees it: facts and words come over its event socket, and what
 * the person says goes to its API. So closing the terminal stops nothing.
 *
 * JOINED-1. Each fact is shown once, in order, and each word once and before the fact that ends its reply, even if
 *     connections are lost.
 * JOINED-2. When the other process ends, this one continues with the agent: in whichever process has the home then, or
 *     here, if none has. Work of a server stays with the server: this terminal waits for it to come back, and tells the
 *     person.
 * JOINED-3. A process that refuses this terminal is not asked again: the person is told why, and the terminal ends. If
 *     connections are lost again and again, the pauses between them grow.
 */
export class JoinedAgent implements WatchedAgent {
  readonly now: Situation;
  readonly log: WatchedAgent["log"];
  readonly #call: Invocation;
  readonly #settings: Settings;
  readonly #words = new HeardWords();
  readonly #listeners = new Set<(fact: Fact) => void>();
  readonly #hearers = new Set<(delta: Delta) => void>();
  readonly #leaving = new AbortController();
  readonly #idlers = new Set<PromiseWithResolvers<void>>();
  readonly #onlooker: Onlooker;
  readonly #pause: typeof pauseFor;
  #note: (words: string) => void = () => {};
  #other: OtherProcess;
  #here: LocalHome | undefined;
  /** Once it goes on here. */
  #agent: Agent | undefined;
  #following: Promise<void> | undefined;
  #told: number;
  /** The last fact that set it to work or to rest, and the fact at which it was known to rest. */
  #changed = 0;
  #rested = 0;
  #isStopping = false;
  /** Connections that were lost, one after the other, before anything came by them. */
  #losses = 0;
  #failure: unknown;

  private constructor(
    call: Invocation,
    settings: Settings,
    other: OtherProcess,
    now: Situation,
    { log, after, pause = pauseFor }: ShownAgent,
  ) {
    this.#call = call;
    this.#settings = settings;
    this.#other = other;
    this.now = now;
    this.#told = after;
    this.#pause = pause;
    const self = this;
    this.log = {
      dir: log.dir,
      get seq() {
        return self.now.seq;
      },
      // All of it comes by the socket, with the words between the facts.
      read: async () => [],
      subscribe: (listener) => {
        this.#listeners.add(listener);
        this.#following ??= this.#follow().catch((error: unknown) => this.#fail(error));
        return () => this.#listeners.delete(listener);
      },
    };
    this.#onlooker = {
      fact: (fact) => this.#hear(fact),
      delta: (delta) => this.#say(delta),
      rest: ({ seq, error }) => {
        this.#losses = 0;
        this.#rested = seq;
        if (error === undefined) this.#look();
        else this.#fail(new Refusal(error));
      },
    };
  }

  static async open(
    call: Invocation,
    settings: Settings,
    other: OtherProcess,
    shown: ShownAgent,
  ): Promise<JoinedAgent> {
    return new JoinedAgent(call, settings, other, await situationOf(shown.log), shown);
  }

  onDelta(listener: (delta: Delta) => void): () => void {
    this.#hearers.add(listener);
    return () => this.#hearers.delete(listener);
  }

  onNote(listener: (words: string) => void): void {
    this.#note = listener;
  }

  readonly give: WatchedAgent["give"] = (command) => {
    const given = { ...command, id: this.now.agent.id } as never;
    if (command.do === "stop") this.#isStopping = true;
    return this.#here ? this.#here.runtime.execute(given, AT_TERMINAL) : this.#other.client.give(given);
  };

  idle(): Promise<void> {
    const idler = Promise.withResolvers<void>();
    this.#idlers.add(idler);
    this.#look();
    return idler.promise;
  }

  /** A process that has taken the home over stays until nobody else is at work in it. */
  async close(): Promise<void> {
    this.#leaving.abort();
    await this.#following;
    await this.#here?.leave(this.now.agent.id);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      await this.#other.client.follow(this.now.agent.id, this.#told, this.#onlooker, signal);
      if (signal.aborted) return;
      const next = await this.#whoIsNext();
      if (!next) return;
      this.#other = next;
    }
  }

  /** The connection is lost: the process that has the home now, unless that is this one, or nothing is left to do. */
  async #whoIsNext(): Promise<OtherProcess | undefined> {
    const before = this.#other.holder;
    for (let waited = 0; !this.#leaving.signal.aborted; waited += LOOK_MS) {
      const other = await otherProcess(this.#settings).catch(passing);
      if (other === "passing") await setTimeout(LOOK_MS);
      else if (other && other.holder.epoch === before.epoch) {
        await this.#checkAnswers(other);
        await this.#pause(Math.min(LOOK_MS * 2 ** this.#losses++, LONGEST_PAUSE_MS), this.#leaving.signal);
        return other;
      } else if (this.#hasEnded()) {
        // Its files were written before its process left the home.
        this.#rested = Number.POSITIVE_INFINITY;
        this.#look();
        return undefined;
      } else if (other) {
        if (await this.#goOnIn(other)) return other;
      } else if (!isServer(before)) {
        const local = await LocalHome.open(this.#call, this.#settings).catch(passing);
        if (local !== "passing") return void (await this.#goOnHere(local));
      } else if (waited >= SERVER_RETURNS_MS) throw this.#serverIsGone();
      else await setTimeout(LOOK_MS);
    }
    return undefined;
  }

  /** A socket does not say why it was refused; a request is told. */
  async #checkAnswers({ client }: OtherProcess): Promise<void> {
    const { id, created } = this.now.agent;
    try {
      await client.events(id, { after: this.#told, limit: 1 });
    } catch (error) {
      if (!(error instanceof ApiError) || !isFinal(error)) return;
      throw new Refusal(
        `The process at ${client.url} refuses to show ${created.name} (${id}) to this terminal: ${error.message} What was done is kept. To read on: ${commandLine(this.#call, "logs", id, "-f")}`,
        { cause: error },
      );
    }
  }

  #hasEnded(): boolean {
    return this.now.agent.run !== null && !isAtWork(this.now.agent.status) && !triesAgain(this.now);
  }

  /** False when it has gone too. */
  async #goOnIn({ client, holder }: OtherProcess): Promise<boolean> {
    const { id, created } = this.now.agent;
    const command = this.#isStopping ? "stop" : "resume";
    this.#note(
      `The process that worked on ${created.name} has ended. It continues in the process with pid ${holder.pid}.`,
    );
    try {
      await client.give({ do: command, id });
    } catch (error) {
      if (error instanceof Error && error.name === "UnreachableServer") return false;
      // It is at work there already, or has ended: that is what comes by the socket.
    }
    return true;
  }

  async #goOnHere(local: LocalHome): Promise<void> {
    this.#here = local;
    const { id, created } = this.now.agent;
    const { runtime } = local;
    const agent = await runtime.agent(id);
    this.#note(`The process that worked on ${created.name} has ended. It continues in this terminal.`);
    agent.onDelta((delta) => this.#say({ type: "delta", agent_id: id, ...delta }));
    await watchFacts(agent.log, this.#told, (fact) => this.#hear(fact));
    void local.listen().then((words) => words && this.#note(words));
    if (!isAtWork(agent.now.agent.status)) agent.keepTime();
    else await runtime.execute({ do: this.#isStopping ? "stop" : "resume", id }, AT_TERMINAL);
    this.#agent = agent;
    this.#look();
  }

  #hear(fact: Fact): void {
    this.#losses = 0;
    this.#told = fact.seq;
    if (fact.seq > this.now.seq) apply(this.now, fact);
    if (fact.type.startsWith("agent.")) this.#changed = fact.seq;
    this.#words.note(fact);
    for (const listener of this.#listeners) listener(fact);
    this.#look();
  }

  #say(delta: DeltaFrame): void {
    this.#losses = 0;
    const text = this.#words.hear(delta);
    const { worker_id, node_id, kind } = delta;
    if (text !== "") for (const hearer of this.#hearers) hearer({ worker_id, node_id, kind, text });
  }

  #look(): void {
    if (this.#idlers.size === 0) return;
    const agent = this.#agent;
    const { run, status } = this.now.agent;
    if (this.#failure !== undefined) this.#settle((idler) => idler.reject(this.#failure));
    else if (agent)
      agent.idle().then(
        () => this.#settle((idler) => idler.resolve()),
        (error: unknown) => this.#settle((idler) => idler.reject(error)),
      );
    else if (!this.#here && run !== null && !isAtWork(status) && this.#rested >= this.#changed)
      this.#settle((idler) => idler.resolve());
  }

  #settle(end: (idler: PromiseWithResolvers<void>) => void): void {
    for (const idler of this.#idlers) end(idler);
    this.#idlers.clear();
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#look();
  }

  #serverIsGone(): Error {
    const { id, created } = this.now.agent;
    return new Refusal(
      `The server at ${this.#other.client.url} has ended. What was done is kept: ${created.name} (${id}) continues when the server is started again, or with: ${commandLine(this.#call, "resume", id)}`,
    );
  }
}

function passing(error: unknown): "passing" {
  if (isPassing(error)) return "passing";
  throw error;
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}

/** Too busy, or failing itself, it may answer later. */
function isFinal({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
