import type { Delivery } from "../../mail/channels/channel.ts";
import { utteranceOf } from "../../mail/channels/utterance.ts";
import { nextOutgoing, type Outgoing, type Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { NewFact } from "../../protocol/index.ts";
import { isForWantOfRoom } from "../../store/disk/disk.ts";
import type { AgentLog } from "../../store/store.ts";
import type { OpenChannel } from "./open-channels.ts";

interface PostmanPorts {
  log: AgentLog;
  now(): Situation;
  clock: Clock;
  random(): number;
}

/** How long one attempt may take, and how long the last ones may take when the agent closes. */
const TRY_MS = 10_000;
const FAREWELL_MS = 5_000;
const FIRST_WAIT_MS = 2_000;
/** Until the next look whether the disk has room again. */
const NO_ROOM_MS = 5_000;
const LONGEST_WAIT_MS = 60 * 60_000;
/** How long it is tried, from when it was said or from when this process began. */
const PATIENCE_MS = 24 * 60 * 60_000;

/**
 * Delivers one agent's messages to its human through the channels of the home.
 *
 * POSTMAN-1. What is to be delivered follows from the log (`outbox`), and so does what was: a delivery that is not
 *     recorded is repeated after a restart, under the same id. Delivery is at least once, and a failure is never
 *     silent.
 * POSTMAN-2. Each channel delivers one message at a time, in order; channels do not wait for each other.
 * POSTMAN-3. A failed delivery is retried, at growing intervals and never earlier than the other side asked. After a
 *     day, or when the other side refuses permanently, it is given up with a fact, and the next message follows. Each
 *     failed attempt is a fact, too.
 * POSTMAN-4. Only `close` waits for the postman, and only briefly.
 */
export class Postman {
  readonly #channels: readonly OpenChannel[];
  readonly #ports: PostmanPorts;
  /** Fires when nothing more may be tried later, and when nothing more may be tried at all. */
  readonly #closing = new AbortController();
  readonly #closed = new AbortController();
  readonly #idle = new Map<string, () => void>();
  #rounds: Promise<unknown> = Promise.resolve();
  #unsubscribe: () => void = () => {};

  constructor(channels: readonly OpenChannel[], ports: PostmanPorts) {
    this.#channels = channels;
    this.#ports = ports;
  }

  /** Begins its rounds. Which channels were added or removed is on record before. */
  async open(): Promise<void> {
    const { log, now } = this.#ports;
    const facts = changesOf(this.#channels, now());
    if (facts.length > 0) await log.append({ facts }).durable;
    if (this.#channels.length === 0) return;
    this.#unsubscribe = log.subscribe(() => {
      if (now().outbox.waiting.length > 0) this.#wake();
    });
    this.#rounds = Promise.all(this.#channels.map((channel) => this.#carry(channel)));
  }

  /** What waits has one more try, unless its channel is failing. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    const farewell = new AbortController();
    const { clock } = this.#ports;
    clock.sleep(FAREWELL_MS, farewell.signal).then(
      () => this.#closed.abort(),
      () => {},
    );
    await this.#rounds;
    farewell.abort();
    this.#unsubscribe();
  }

  async #carry(channel: OpenChannel): Promise<void> {
    const { now, clock } = this.#ports;
    const begun = clock.now();
    /** In a row, whatever was carried: it is the other side that fails. */
    let failures = 0;
    let attempts = 0;
    try {
      for (let last = ""; ; ) {
        const next = nextOutgoing(now().outbox, channel.name);
        if (!next) {
          if (this.#closing.signal.aborted) return;
          await this.#arrival(channel.name);
          continue;
        }
        const which = `${next.fact} ${next.of}`;
        attempts = which === last ? attempts + 1 : 1;
        last = which;
        const sent = await this.#try(channel, next);
        if (this.#closed.signal.aborted && sent.kind !== "delivered") return;
        failures = sent.kind === "failed" ? failures + 1 : 0;
        const wait = sent.kind === "failed" ? this.#waitAfter(sent, failures) : 0;
        const until = Math.max(begun, next.ts * 1000) + PATIENCE_MS;
        const isOver = sent.kind !== "failed" || clock.now() + wait > until;
        if (isOver) await this.#record(factOf(channel.name, next, sent, attempts));
        else await this.#noteDelay(channel.name, next, sent.why, attempts, wait);
        if (wait > 0) await clock.sleep(wait, this.#closing.signal);
      }
    } catch {
      // Closing; or a log that cannot be kept, of which the next append tells. The outbox keeps the rest.
    }
  }

  /** Only to be known: where there is no room for it, nothing is lost but the note. */
  async #noteDelay(channel: string, { of, fact }: Outgoing, why: string, attempts: number, wait: number) {
    const data = { channel, of, fact, why, attempts, retry_in_ms: Math.round(wait) };
    await this.#ports.log.append({ facts: [{ type: "channel.delayed", data }] }).durable.catch((error: unknown) => {
      if (!isForWantOfRoom(error)) throw error;
    });
  }

  /** What has left has left: on a full disk it is not sent again, but recorded when there is room. */
  async #record(fact: NewFact): Promise<void> {
    const { log, clock } = this.#ports;
    for (;;) {
      try {
        await log.append({ facts: [fact] }).durable;
        return;
      } catch (error) {
        if (!isForWantOfRoom(error)) throw error;
        await clock.sleep(NO_ROOM_MS, this.#closing.signal);
      }
    }
  }

  async #try(channel: OpenChannel, outgoing: Outgoing): Promise<Delivery> {
    const { now, clock } = this.#ports;
    const late = new AbortController();
    const done = new AbortController();
    clock.sleep(TRY_MS, done.signal).then(
      () => late.abort(),
      () => {},
    );
    const signal = AbortSignal.any([late.signal, this.#closed.signal]);
    try {
      return await channel.deliver(utteranceOf(outgoing, now(), channel.name), signal);
    } finally {
      done.abort();
    }
  }

  #waitAfter({ retryAfterMs = 0 }: Extract<Delivery, { kind: "failed" }>, failures: number): number {
    const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
    // Many agents have the same channel and must not come back at once.
    return Math.max(retryAfterMs, backoff / 2) + Math.round((this.#ports.random() * backoff) / 2);
  }

  #arrival(channel: string): Promise<void> {
    return new Promise((resolve) => this.#idle.set(channel, resolve));
  }

  #wake(): void {
    for (const resolve of this.#idle.values()) resolve();
    this.#idle.clear();
  }
}

/** What the record says of the channels that is not so any more. */
function changesOf(channels: readonly OpenChannel[], { outbox }: Situation): NewFact[] {
  const names = new Set(channels.map(({ name }) => name));
  const gone = Object.keys(outbox.open).filter((name) => !names.has(name));
  const changed = channels.filter(
    ({ name, to }) => !Object.hasOwn(outbox.open, name) || outbox.open[name]?.to.join() !== to.join(),
  );
  return [
    ...gone.map((channel): NewFact => ({ type: "channel.closed", data: { channel } })),
    ...changed.map(({ name, to }): NewFact => ({ type: "channel.opened", data: { channel: name, to: [...to] } })),
  ];
}

function factOf(channel: string, { of, fact }: Outgoing, sent: Delivery, attempts: number): NewFact {
  if (sent.kind === "delivered") return { type: "channel.delivered", data: { channel, of, fact } };
  return { type: "channel.failed", data: { channel, of, fact, why: sent.why, attempts } };
}
