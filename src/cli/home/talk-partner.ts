import { isAtWork } from "../../projections/index.ts";
import type { CommandToAgent } from "../../protocol/commands.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { AT_TERMINAL, type Invocation } from "../invocation.ts";
import type { Saying } from "../talk/typed-line.ts";
import type { LocalHome } from "./local-home.ts";
import { reachHome } from "./reach-home.ts";

interface Here {
  local: LocalHome;
  agent: Agent;
  /** Resolves when it rests and was let go. */
  rested: Promise<void>;
}

/**
 * An agent that a person talks to over a long time, wherever it works.
 *
 * TALK-PARTNER-1. Messages go to the process that works on it; if there is none, the agent is opened here and works
 *     here.
 * TALK-PARTNER-2. The home is held only while an agent works here: a terminal that only reads does not block anyone.
 */
export class TalkPartner {
  readonly #call: Invocation;
  readonly #settings: Settings;
  readonly #id: AgentId;
  readonly #onOpen: (agent: Agent) => Promise<() => void>;
  #here: Here | undefined;
  #saying: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> = Promise.resolve();

  /** `onOpen` is told when it works here, and gives back what is to be done when it no longer does. */
  constructor(call: Invocation, settings: Settings, id: AgentId, onOpen: (agent: Agent) => Promise<() => void>) {
    this.#call = call;
    this.#settings = settings;
    this.#id = id;
    this.#onOpen = onOpen;
  }

  /** The agent, while it works in this process. */
  get here(): Agent | undefined {
    return this.#here?.agent;
  }

  /** Resolves when nobody works here any more. Rejects when the record could not be kept. */
  async rested(): Promise<void> {
    await this.#here?.rested;
    await this.#closing;
  }

  async say(saying: Saying): Promise<string> {
    const heard = this.#give(saying);
    this.#saying = heard.catch(() => {});
    return (await heard).detail;
  }

  async stop(): Promise<string> {
    try {
      await this.#give({ do: "stop" });
      return "Stopped.";
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "conflict") return "It is not at work.";
      throw error;
    }
  }

  /** The person has read everything that was said to them. */
  async seen(): Promise<void> {
    await this.#give({ do: "seen" });
  }

  async #give<C extends Saying["do"] | "stop" | "seen">(order: CommandToAgent<C>) {
    const command = { ...order, id: this.#id } as never;
    await this.#closing;
    if (this.#here) return this.#here.local.runtime.execute<C>(command, AT_TERMINAL);
    return reachHome(this.#settings, {
      there: ({ client }) => client.give<C>(command),
      here: () => this.#open((local) => local.runtime.execute<C>(command, AT_TERMINAL)),
    });
  }

  /** Does it here; an agent that goes on after that stays open until it rests. */
  async #open<T>(act: (local: LocalHome) => Promise<T>): Promise<T> {
    // Heavy, and not needed where another process works.
    const { LocalHome } = await import("./local-home.ts");
    const local = await LocalHome.open(this.#call, this.#settings);
    let letGo = () => {};
    let isStaying = false;
    const close = async () => {
      letGo();
      await local.close();
    };
    try {
      const agent = await local.runtime.agent(this.#id);
      letGo = await this.#onOpen(agent);
      await local.listen();
      const done = await act(local);
      isStaying = isAtWork(agent.now.agent.status);
      if (isStaying) {
        const rested = this.#rest(local, agent, close);
        rested.catch(() => {}); // told to anyone who waits for it
        this.#here = { local, agent, rested };
      }
      return done;
    } finally {
      if (!isStaying) await close();
    }
  }

  async #rest(local: LocalHome, agent: Agent, close: () => Promise<void>): Promise<void> {
    try {
      for (let seq = -1; agent.log.seq > seq; ) {
        seq = agent.log.seq;
        await agent.idle();
        // What is just being said may set it to work again.
        await this.#saying;
        await local.othersAtRest(this.#id);
        if (!isAtWork(agent.now.agent.status)) break;
      }
    } finally {
      this.#here = undefined;
      this.#closing = close();
      await this.#closing;
    }
  }
}
