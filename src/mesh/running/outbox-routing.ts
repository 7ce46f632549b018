import { addressName } from "../files/layout.ts";
import { type MeshMessage, readMessage } from "../files/mesh-message.ts";
import type { Queues } from "../files/queue.ts";
import { distanceFields } from "./loop-guard.ts";
import type { MeshContext } from "./mesh-context.ts";
import { type MessageRoute, messageRouteOf, senderProblem } from "./message-route.ts";
import type { TaskEndKind } from "./task-ends.ts";

/** Takes messages out of one agent's outbox and moves them to their destinations. */
export class OutboxRouting {
  readonly #queues: Queues;
  readonly #agent: string;
  readonly #context: MeshContext;
  readonly #takeEnd: (message: MeshMessage, end: TaskEndKind) => boolean;

  /** `takeEnd` is called for a message that ends a task of the agent; it returns true if something moved. */
  constructor(
    queues: Queues,
    agent: string,
    context: MeshContext,
    takeEnd: (message: MeshMessage, end: TaskEndKind) => boolean,
  ) {
    this.#queues = queues;
    this.#agent = agent;
    this.#context = context;
    this.#takeEnd = takeEnd;
  }

  /** True if something moved. */
  advance(): boolean {
    let moved = false;
    for (const name of this.#queues.list("outbox")) moved = this.#takeOut(name) || moved;
    return moved;
  }

  #takeOut(name: string): boolean {
    const message = readMessage(this.#queues, "outbox", name);
    if (message === undefined) return this.#queues.noticed("outbox", name);
    if ("reason" in message) return this.#refuse(name, message.reason);
    const { address } = this.#queues;
    const route = messageRouteOf(message.header, address, this.#context.ports.agentsByMesh());
    const problem = route.kind === "nowhere" ? route.reason : senderProblem(message.header.from, address, route);
    return problem === undefined ? this.#send(message, route) : this.#refuse(name, problem);
  }

  #send(message: MeshMessage, route: MessageRoute): boolean {
    switch (route.kind) {
      case "done":
        return this.#takeEnd(message, "result");
      case "failed":
        return this.#takeEnd(message, "error");
      case "human":
        return this.#toHuman(message);
      case "board":
        return this.#context.toBoard(this.#queues, message.name);
      case "agent":
      case "mesh":
        return this.#toQueues(message, route);
      case "nowhere":
        return false;
    }
  }

  #toQueues(message: MeshMessage, route: Extract<MessageRoute, { kind: "agent" | "mesh" }>): boolean {
    const { ports } = this.#context;
    const to = ports.queuesOf(route.mesh, route.kind === "agent" ? route.agent : null);
    if (!to) return this.#refuse(message.name, `${message.header.to} is not there any more.`);
    const problem = this.#recordDistance(message, addressName(to.address));
    if (problem !== undefined) return this.#refuse(message.name, problem);
    const moved = this.#queues.moveTo(message.name, "outbox", to, "inbox") !== undefined;
    if (route.mesh !== this.#queues.address.mesh) ports.changed(route.mesh);
    return moved;
  }

  /** LOOP-GUARD-4: the distance is written into the message before it leaves. A reason if it goes too far. */
  #recordDistance(message: MeshMessage, to: string): string | undefined {
    const { loopGuard } = this.#context;
    const here = { mesh: this.#queues.address.mesh, agent: this.#agent };
    const active = this.#queues.first("active");
    const task = active === undefined ? undefined : readMessage(this.#queues, "active", active);
    const distance = loopGuard.next(here, message, to, task && !("reason" in task) ? task : undefined);
    const problem = this.#context.refusal(here, to, distance);
    if (problem !== undefined) return problem;
    const header = { ...message.header, ...distanceFields(distance) };
    this.#context.rewrite(this.#queues, "outbox", { ...message, header });
    loopGuard.sent(addressName(here), to, distance);
    return undefined;
  }

  /** The human is handed each name once, so a second message with the same name gets another one first. */
  #toHuman(message: MeshMessage): boolean {
    const isTaken = (name: string) => this.#queues.has("complete", name) || this.#queues.has("archive", name);
    const { name } = message;
    if (isTaken(name)) return this.#queues.move(name, "outbox", "outbox", isTaken) !== undefined;
    this.#context.ports.human(this.#agent, message);
    return this.#queues.move(name, "outbox", "complete") !== undefined;
  }

  #refuse(name: string, reason: string): boolean {
    return this.#context.putAside(this.#queues, "outbox", name, reason);
  }
}
