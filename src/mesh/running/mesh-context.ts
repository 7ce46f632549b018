import type { MeshConfig, MeshFact, MessageHeader } from "../../protocol/index.ts";
import { addressName, type Layout, type MeshAddress, type QueueName } from "../files/layout.ts";
import { type MeshMessage, postMessage, rewriteMessage } from "../files/mesh-message.ts";
import { titleOf } from "../files/message-file.ts";
import { asMessageId, BOARD, derivedName, stemOf } from "../files/message-names.ts";
import { quarantine } from "../files/quarantine.ts";
import type { Queues } from "../files/queue.ts";
import { type Distance, LoopGuard, sameDistance, whyTooFar } from "./loop-guard.ts";
import type { MeshPorts } from "./mesh-ports.ts";
import { senderOf } from "./message-route.ts";

/** What a mesh and the queues of its agents share: posting, answering, quarantining, recording. */
export class MeshContext {
  readonly mesh: string;
  readonly ports: MeshPorts;
  readonly loopGuard = new LoopGuard();
  readonly #layout: Layout;
  readonly #config: () => MeshConfig;
  /** Once it is false, nothing that comes late moves anything. */
  isOpen = true;

  constructor(config: () => MeshConfig, layout: Layout, ports: MeshPorts) {
    this.mesh = config().mesh;
    this.#config = config;
    this.#layout = layout;
    this.ports = ports;
  }

  record(fact: MeshFact): void {
    this.ports.record(fact);
  }

  here(agent: string | null): MeshAddress {
    return { mesh: this.mesh, agent };
  }

  post(queues: Queues | undefined, { name, header, body }: MeshMessage, to: "inbox" | "outbox" = "inbox"): void {
    if (!queues) return;
    const timestamp = new Date(this.ports.now()).toISOString();
    const dated: MessageHeader = { ...header, "msg-id": asMessageId(stemOf(name)), timestamp };
    postMessage(queues, to, { name, header: dated, body }, this.#layout.tmp);
  }

  /** The sender of a task is told of its end, once. */
  answer(task: MeshMessage, type: "task-complete" | "error", words: string, from: MeshAddress): void {
    const to = this.#asker(task, from);
    const name = answerName(task.name, from);
    if (!to || to.find(name) !== undefined) return;
    const isForBoard = task.header.from === BOARD;
    const header: MessageHeader = {
      from: addressName(from),
      to: isForBoard ? BOARD : addressName(to.address),
      type,
      status: "complete",
      "in-reply-to": stemOf(task.name),
      ...sameDistance(task.header, true),
    };
    const body = `# ${type === "error" ? "Failed" : "Done"}: ${titleOf(task.body)}\n\n${words}\n`;
    this.post(to, { name, header, body }, isForBoard ? "outbox" : "inbox");
    if (to.address.mesh !== this.mesh) this.ports.changed(to.address.mesh);
  }

  /** A task of this name was answered before: another one must have another name. */
  isAnswered(task: Pick<MeshMessage, "name" | "header">, from: MeshAddress): boolean {
    return this.#asker(task, from)?.find(answerName(task.name, from)) !== undefined;
  }

  /** A message to the board waits in the mesh's own outbox until the board takes it. */
  toBoard(from: Queues, name: string): boolean {
    const own = this.ports.queuesOf(this.mesh, null);
    return own !== undefined && from.moveTo(name, "outbox", own, "outbox") !== undefined;
  }

  /** Whose inbox gets the answer to a task: none for the human, who sees it anyway, nor for the agent itself. */
  #asker({ header }: Pick<MeshMessage, "header">, from: MeshAddress): Queues | undefined {
    if (header.from === BOARD) return this.ports.queuesOf(this.mesh, null);
    const sender = senderOf(header.from, from.mesh, this.ports.agentsByMesh());
    if (sender === null || sender === "human" || addressName(sender) === addressName(from)) return undefined;
    if (sender.agent === null && sender.mesh === this.mesh) return undefined;
    return this.ports.queuesOf(sender.mesh, sender.agent);
  }

  /** A message that goes too far is refused; the human is asked first, once for each thread and agent. */
  refusal(from: MeshAddress & { agent: string }, to: string, far: Distance): string | undefined {
    const own = addressName(from);
    const why = whyTooFar(far, own, to, this.#config());
    if (why === undefined) return undefined;
    const name = derivedName(`${far.thread}.md`, `${from.agent}.circle`);
    const header: MessageHeader = { from: own, to: "human", type: "ask", status: "pending", thread: far.thread };
    this.ports.human(from.agent, { name, header, body: `May ${own} and ${to} continue? ${why}\n` });
    return why;
  }

  /** Replaces a message in its place, whole at any moment. */
  rewrite(queues: Queues, queue: QueueName, message: MeshMessage): void {
    rewriteMessage(queues.path(queue, message.name), message, this.#layout.tmp);
  }

  putAside(queues: Queues, from: QueueName, name: string, why: string): boolean {
    const aside = quarantine(queues, from, name, why);
    if (aside !== undefined) {
      const data = { ...queues.address, name: aside, why: firstLineOf(why) };
      this.record({ type: "mesh.quarantined", data });
    }
    return true;
  }

  ended(address: MeshAddress, name: string, end: "result" | "error", words: string): void {
    this.record(
      end === "error"
        ? { type: "mesh.failed", data: { ...address, name, why: firstLineOf(words) } }
        : { type: "mesh.completed", data: { ...address, name, gist: firstLineOf(words) } },
    );
  }
}

/** Two agents that were given messages of the same name answer with different ones. */
function answerName(task: string, from: MeshAddress): string {
  return derivedName(task, `${addressName(from).replace("/", ".")}.done`);
}

export function firstLineOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
