import { isAtWork } from "../../projections/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { askControl } from "../../runtime/human/control.ts";
import { controlPath } from "../../runtime/human/control-path.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type Saying, sayElsewhere, sayTo, whileHandsChange } from "./speaker.ts";

interface Here {
  runtime: Runtime;
  agent: Agent;
  /** Resolves when it rests and was let go. */
  rested: Promise<void>;
}

/**
 * An agent that a person talks to over a long time, wherever it works.
 *
 * TALK-PARTNER-1. Whoever works on it is told; when nobody does, it is opened here, and works here.
 * TALK-PARTNER-2. The home is held only while the agent works here: somebody who only reads is in nobody's way.
 */
export class TalkPartner {
  readonly #settings: Settings;
  readonly #id: AgentId;
  readonly #onOpen: (agent: Agent) => Promise<() => void>;
  #here: Here | undefined;
  #saying: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> = Promise.resolve();

  /** `onOpen` is told when it works here, and gives back what is to be done when it no longer does. */
  constructor(settings: Settings, id: AgentId, onOpen: (agent: Agent) => Promise<() => void>) {
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

  say(saying: Saying): Promise<string> {
    const heard = this.#say(saying);
    this.#saying = heard.catch(() => {});
    return heard;
  }

  async stop(): Promise<string> {
    if (this.#here) {
      await this.#here.agent.stop("human");
      return "Stopped.";
    }
    const answer = await askControl(controlPath(this.#settings.home), { do: "stop", agent: this.#id });
    return answer?.ok ? "Stopped." : "Nobody works on it now.";
  }

  /** The person has read everything that was said to them. */
  async seen(): Promise<void> {
    if (this.#here) return this.#here.agent.seen();
    const answer = await askControl(controlPath(this.#settings.home), { do: "seen", agent: this.#id });
    if (answer === undefined) await this.#open((agent) => agent.seen());
  }

  async #say(saying: Saying): Promise<string> {
    await this.#closing;
    if (this.#here) return sayTo(this.#here.agent, saying);
    return whileHandsChange(async () => {
      const heard = await sayElsewhere(this.#settings.home, this.#id, saying);
      return heard ?? (await this.#open((agent) => sayTo(agent, saying)));
    });
  }

  /** Does it here; an agent that goes on after that stays open until it rests. */
  async #open<T>(act: (agent: Agent) => Promise<T>): Promise<T> {
    // Heavy, and not needed where another process works.
    const { openRuntime } = await import("../../runtime/open-runtime.ts");
    const runtime = await openRuntime(this.#settings);
    runtime.store.announce({ command: "agiraph chat" });
    let letGo = () => {};
    let isStaying = false;
    const close = async () => {
      letGo();
      await runtime.close();
    };
    try {
      const agent = await runtime.agent(this.#id);
      letGo = await this.#onOpen(agent);
      // Other terminals may talk to it too; where that cannot be, they are told by the lock.
      await runtime.listen().catch(() => {});
      const done = await act(agent);
      isStaying = isAtWork(agent.now.agent.status);
      if (isStaying) {
        const rested = this.#rest(agent, close);
        rested.catch(() => {}); // told to whoever waits for it
        this.#here = { runtime, agent, rested };
      }
      return done;
    } finally {
      if (!isStaying) await close();
    }
  }

  async #rest(agent: Agent, close: () => Promise<void>): Promise<void> {
    try {
      for (let seq = -1; agent.log.seq > seq; ) {
        seq = agent.log.seq;
        await agent.idle();
        // What is just being said may set it to work again.
        await this.#saying;
        if (!isAtWork(agent.now.agent.status)) break;
      }
    } finally {
      this.#here = undefined;
      this.#closing = close();
      await this.#closing;
    }
  }
}
