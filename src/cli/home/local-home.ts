import { join } from "node:path";
import type { AgentId } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { OwnPort } from "../../server/own-port.ts";
import { tokenOf } from "../../store/home/token-file.ts";
import { AT_TERMINAL, type Invocation } from "../invocation.ts";
import type { Interrupt } from "../live/interrupts.ts";
import { isParked, whenParked } from "../live/parked.ts";
import type { Remark, WatchedAgent } from "../talk/watch-team.ts";
import type { Terminal } from "../terminal.ts";
import { plain } from "../wording/width.ts";
import { deafChannels } from "./extension-remarks.ts";
import { openHome } from "./open-home.ts";

/**
 * The home while this process works in it.
 *
 * LOCAL-HOME-1. Other terminals join it: their commands are carried out here, through the API on a port of its own.
 * LOCAL-HOME-2. It stays open while agents of other terminals are at work in it, until the person presses Ctrl-C or the
 *     process gets SIGTERM or SIGHUP. The terminals that watch then continue with their agents themselves.
 * LOCAL-HOME-3. A signal that comes before anybody watches is not lost: who begins to watch is told of it.
 */
export class LocalHome {
  readonly runtime: Runtime;
  readonly #terminal: Terminal;
  readonly #port: OwnPort | undefined;
  readonly #deaf: string | undefined;
  readonly #leaving = new AbortController();
  readonly #onInterrupt = () => {
    this.#signalled ??= "SIGINT";
    if (this.#isWaiting) this.#leaving.abort();
  };
  readonly #onEnd = (signal: Interrupt) => {
    this.#signalled ??= signal;
    this.#leaving.abort();
  };
  #isWaiting = false;
  #signalled: Interrupt | undefined;

  private constructor(terminal: Terminal, runtime: Runtime, port: OwnPort | Error) {
    this.runtime = runtime;
    this.#terminal = terminal;
    this.#port = port instanceof Error ? undefined : port;
    this.#deaf = port instanceof Error ? `Other terminals cannot join this one: ${port.message}` : undefined;
    process.on("SIGINT", this.#onInterrupt).on("SIGTERM", this.#onEnd).on("SIGHUP", this.#onEnd);
  }

  static async open(call: Invocation, settings: Settings): Promise<LocalHome> {
    const { terminal, command } = call;
    const runtime = await openHome(call, settings);
    const port = await openPort(runtime, settings, terminal.cwd).catch((error: Error) => error);
    runtime.store.announce({ command: `agiraph ${command}`, ...(port instanceof OwnPort && { url: port.url }) });
    return new LocalHome(terminal, runtime, port);
  }

  /** Lets answers in by the channels, and says what keeps others out. */
  async listen(): Remark {
    const failed = await this.runtime.listen().then(
      () => deafChannels(this.runtime),
      (error: Error) => [error.message],
    );
    return [...(this.#deaf ? [this.#deaf] : []), ...failed].join("\n") || undefined;
  }

  /** The first signal since it was opened: somebody wants to leave. */
  get signalled(): Interrupt | undefined {
    return this.#signalled;
  }

  /** An agent that works here, as the person at this terminal sees it. */
  watched(agent: Agent): WatchedAgent {
    const { id } = agent.log;
    const { runtime } = this;
    const signalled = () => this.#signalled;
    return {
      get signalled() {
        return signalled();
      },
      get now() {
        return agent.now;
      },
      log: agent.log,
      onDelta: (listener) => agent.onDelta(listener),
      idle: () => agent.idle(),
      give: (command) => runtime.execute({ ...command, id } as never, AT_TERMINAL),
    };
  }

  /** Resolves when nobody else's agent is at work here, or somebody wants to leave. An agent that waits for a person rests. */
  async othersAtRest(own: AgentId | undefined, note = (words: string) => this.#terminal.say(words)): Promise<void> {
    const watching = new AbortController();
    const isLeft = aborted(this.#leaving.signal);
    const broken = new Set<Agent>();
    const isAtWork = (agent: Agent) => agent.log.id !== own && !broken.has(agent) && !isParked(agent.now);
    this.#isWaiting = true;
    try {
      for (let isTold = false; !this.#leaving.signal.aborted; isTold = true) {
        const others = this.runtime.atWork().filter(isAtWork);
        if (others.length === 0) return;
        const each = others.map((agent) =>
          Promise.race([agent.idle().catch(() => broken.add(agent)), whenParked(agent, watching.signal)]),
        );
        if (!isTold && !(await isQuick(Promise.all(each)))) note(stillAtWork(others));
        await Promise.race([Promise.all(each), isLeft]);
      }
    } finally {
      this.#isWaiting = false;
      watching.abort();
    }
  }

  /** After the work of this terminal's own agent. */
  async leave(own?: AgentId): Promise<void> {
    try {
      await this.othersAtRest(own);
    } finally {
      await this.close();
    }
  }

  /** A chat opens and closes the home as often as somebody speaks: nothing of it stays. */
  async close(): Promise<void> {
    try {
      await this.#port?.close();
      await this.runtime.close();
    } finally {
      process.off("SIGINT", this.#onInterrupt).off("SIGTERM", this.#onEnd).off("SIGHUP", this.#onEnd);
    }
  }
}

async function openPort(runtime: Runtime, settings: Settings, folder: string): Promise<OwnPort> {
  return OwnPort.open({ runtime, settings, token: tokenOf(settings.home), folder });
}

function stillAtWork(others: readonly Agent[]): string {
  const names = others.map(({ now }) => now.agent.created.name).join(", ");
  const [is, rests] = others.length === 1 ? ["is", "it rests"] : ["are", "they rest"];
  return plain(
    `${names} ${is} at work in this process, for other terminals. It stays until ${rests}; Ctrl-C ends it now.`,
  );
}

/** Somebody who rests in a moment is not worth a word. */
async function isQuick(done: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), SHORTLY_MS);
  done.then(() => resolve(true));
  return promise.finally(() => clearTimeout(timer));
}

const SHORTLY_MS = 400;

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

/**
 * A damaged home keeps working; what was damaged, and where the damaged bytes are kept, is reported before anything
 * else.
 */
export function tellRepairs({ store }: Runtime, home: string, terminal: Terminal): void {
  for (const line of repairLines(store, home)) terminal.say(`${terminal.errPaint.yellow("!")} ${line}`);
}

export function repairLines({ repairs }: Runtime["store"], home: string): string[] {
  return repairs.map(({ file, what, aside }) =>
    plain(`Damaged: ${file}: ${what}.${aside ? ` Kept in ${join(home, aside)}.` : ""}`),
  );
}
