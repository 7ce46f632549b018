import type { WebSocket } from "ws";
import { type AgentSummaryData, listedView } from "../projections/index.ts";
import { type AgentId, COORDINATOR, type Fact, HUMAN } from "../protocol/index.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { FeedLimits } from "./follower.ts";

/**
 * All agents for a list: first a summary of each, with the fact at which it was made, then the facts that change a
 * summary or the state of a mesh. A client that is too slow is not sent more; once it has received what was sent, it
 * gets new summaries. So does every client when agents that were marked `loading` have been loaded.
 */
export function followAll(
  socket: WebSocket,
  runtime: Pick<Runtime, "listed" | "onLoaded" | "subscribe">,
  { mostWaiting }: Pick<FeedLimits, "mostWaiting">,
): { alive: boolean } {
  const client = { alive: true };
  let mode: "summing" | "live" | "behind" = "summing";
  let meanwhile: Fact[] = [];
  /** Agents were loaded while the summaries were being made. */
  let isOutdated = false;
  const filter = new SummaryFacts();

  const send = (frame: unknown) =>
    socket.send(JSON.stringify(frame), (error) => {
      if (error) return;
      client.alive = true;
      if (mode === "behind" && socket.bufferedAmount <= mostWaiting / 4) sumUp();
    });

  const sumUp = () => {
    mode = "summing";
    isOutdated = false;
    runtime
      .listed()
      .then((agents) => {
        if (socket.readyState !== socket.OPEN) return;
        const known = new Map(agents.map(({ id, seq }) => [id, seq]));
        filter.learn(agents);
        send({ type: "summaries", agents: agents.map(listedView) });
        mode = "live";
        if (isOutdated) return sumUp();
        for (const fact of meanwhile.splice(0)) if (fact.seq > (known.get(fact.agent_id) ?? 0)) tell(fact);
      })
      .catch(() => socket.close(1011, "The agents could not be read. Connect again."));
  };

  const tell = (fact: Fact) => {
    if (mode === "live" && socket.bufferedAmount > mostWaiting) mode = "behind";
    if (mode === "live") send(fact);
    if (mode === "summing") meanwhile.push(fact);
  };

  const unhear = runtime.subscribe((fact) => {
    // While they are summed up, nobody knows yet which of them work for ever.
    const mayBeEndless = mode === "summing";
    if (filter.passes(fact, mayBeEndless)) tell(fact);
  });
  const unload = runtime.onLoaded(() => {
    if (mode === "live") sumUp();
    else if (mode === "summing") isOutdated = true;
  });
  socket.once("close", () => {
    unhear();
    unload();
    meanwhile = [];
  });
  sumUp();
  return client;
}

/** Which facts may change a summary. Some do so only with certain agents, which are noted as their facts pass. */
class SummaryFacts {
  /** Agents with somebody whose model did not answer: that it answers again is told of these alone. */
  readonly #troubled = new Set<AgentId>();
  /** Agents that work for ever: that the coordinator waits, or goes on, is told of these alone. They may fall asleep by it. */
  readonly #endless = new Set<AgentId>();
  /** Agents whose human may have been told that everybody waits: who goes on then, or ends, ends that. */
  readonly #deadlocked = new Set<AgentId>();

  learn(agents: readonly Pick<AgentSummaryData, "id" | "trouble" | "mode" | "unread">[]): void {
    for (const { id, trouble, mode, unread } of agents) {
      if (unread > 0) this.#deadlocked.add(id);
      if (trouble) this.#troubled.add(id);
      if (mode === "infinite") this.#endless.add(id);
    }
  }

  passes(fact: Fact, mayBeEndless: boolean): boolean {
    const id = fact.agent_id;
    if (fact.type === "model.failed") this.#troubled.add(id);
    if (fact.type === "agent.created" && fact.data.mode === "infinite") this.#endless.add(id);
    const endsDeadlock = mayEndDeadlock(fact) && this.#deadlocked.delete(id);
    if (fact.type === "message.sent" && fact.data.deadlock) this.#deadlocked.add(id);
    return (
      changesASummary(fact) ||
      endsDeadlock ||
      (this.#troubled.has(id) && mayEndTrouble(fact)) ||
      ((mayBeEndless || this.#endless.has(id)) && maySleepOrWake(fact))
    );
  }
}

function changesASummary(fact: Fact): boolean {
  if (fact.type === "worker.waiting") return fact.data.for === "human";
  if (fact.type === "message.sent") return (fact.data.reader ?? fact.data.to) === HUMAN;
  if (fact.type === "message.received") return fact.data.by === HUMAN;
  return (
    fact.type === "model.failed" ||
    fact.type === "model.set" ||
    /^(?:agent|goal|run|stage|human)\./.test(fact.type) ||
    changesAMesh(fact)
  );
}

/** What is told to whom within one is seen by those who look at it. */
function changesAMesh({ type }: Fact): boolean {
  return /^mesh\.(?:opened|closed|reloaded|received|activated|completed|failed|session)$/.test(type);
}

function maySleepOrWake({ type, data }: Fact): boolean {
  return (type === "worker.waiting" || type === "worker.busy") && data.worker_id === COORDINATOR;
}

function mayEndTrouble({ type }: Fact): boolean {
  return type === "model.responded" || type === "worker.idle" || type === "worker.stopped" || type === "worker.retired";
}

function mayEndDeadlock({ type, data }: Fact): boolean {
  return type === "model.called" ? data.node_id !== null : /^node\.(?:completed|failed|cancelled)$/.test(type);
}
