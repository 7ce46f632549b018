import { join } from "node:path";
import type { MeshFact, MessageHeader } from "../protocol/index.ts";
import { type Layout, nameOf, type Place, type QueueName } from "./layout.ts";
import { type Letter, post } from "./letter.ts";
import { derivedName, idOf, stemOf } from "./letter-names.ts";
import type { MeshPorts } from "./mesh.ts";
import { titleOf } from "./message-file.ts";
import { quarantine } from "./quarantine.ts";
import type { Queues } from "./queue.ts";
import { HOUSE, senderOf } from "./route.ts";

/** What the mesh and its agents' desks have in common: posting, answering, putting aside, recording. */
export class Office {
  readonly mesh: string;
  readonly ports: MeshPorts;
  readonly #layout: Layout;
  /** Once it is closed, nothing that comes late moves anything. */
  isOpen = true;

  constructor(mesh: string, layout: Layout, ports: MeshPorts) {
    this.mesh = mesh;
    this.#layout = layout;
    this.ports = ports;
  }

  record(fact: MeshFact): void {
    this.ports.record(fact);
  }

  here(agent: string | null): Place {
    return { mesh: this.mesh, agent };
  }

  post(
    queues: Queues | undefined,
    name: string,
    header: MessageHeader,
    body: string,
    to: "inbox" | "outbox" = "inbox",
  ): void {
    if (!queues) return;
    const timestamp = new Date(this.ports.now()).toISOString();
    const dated: MessageHeader = { ...header, "msg-id": idOf(stemOf(name)), timestamp };
    post(queues, to, name, dated, body, join(this.#layout.running, "tmp"));
  }

  /** Whoever asked for it hears of its end, once. */
  answer(task: Letter, type: "task-complete" | "error", words: string, from: Place): void {
    const to = this.#asker(task, from);
    const name = answerName(task.name, from);
    if (!to || to.find(name) !== undefined) return;
    const isForHouse = task.header.from === HOUSE;
    const header: MessageHeader = {
      from: nameOf(from),
      to: isForHouse ? HOUSE : nameOf(to.place),
      type,
      status: "complete",
      "in-reply-to": stemOf(task.name),
    };
    const body = `# ${type === "error" ? "Failed" : "Done"}: ${titleOf(task.body)}\n\n${words}\n`;
    this.post(to, name, header, body, isForHouse ? "outbox" : "inbox");
    if (to.place.mesh !== this.mesh) this.ports.changed(to.place.mesh);
  }

  /** Under this name it was asked for and answered before: another message must have another. */
  isAnswered(task: Pick<Letter, "name" | "header">, from: Place): boolean {
    return this.#asker(task, from)?.find(answerName(task.name, from)) !== undefined;
  }

  /** What is for the house waits in the mesh's own outbox, until whoever gave the task takes it from there. */
  toHouse(from: Queues, name: string): boolean {
    const own = this.ports.queuesOf(this.mesh, null);
    return own !== undefined && from.moveTo(name, "outbox", own, "outbox") !== undefined;
  }

  /** Who is to hear of a task's end by a message: nobody for the human, who sees it, nor for oneself. */
  #asker({ header }: Pick<Letter, "header">, from: Place): Queues | undefined {
    if (header.from === HOUSE) return this.ports.queuesOf(this.mesh, null);
    const sender = senderOf(header.from, from.mesh, this.ports.directory());
    if (sender === null || sender === "human" || nameOf(sender) === nameOf(from)) return undefined;
    if (sender.agent === null && sender.mesh === this.mesh) return undefined;
    return this.ports.queuesOf(sender.mesh, sender.agent);
  }

  putAside(queues: Queues, from: QueueName, name: string, why: string): boolean {
    const aside = quarantine(queues, from, name, why);
    if (aside !== undefined) {
      const data = { ...queues.place, name: aside, why: gist(why) };
      this.record({ type: "mesh.quarantined", data });
    }
    return true;
  }

  ended(place: Place, name: string, end: "result" | "error", words: string): void {
    this.record(
      end === "error"
        ? { type: "mesh.failed", data: { ...place, name, why: gist(words) } }
        : { type: "mesh.completed", data: { ...place, name, gist: gist(words) } },
    );
  }
}

/** What the house has taken from a mesh's outbox lies among what is complete: ends under their names, words as `taken`. */
export function isTakenByHouse(name: string): boolean {
  return /\.(?:done|taken)(?:~\d+)?\.md$/.test(name);
}

/** Two who were given messages of one name answer with two. */
function answerName(task: string, from: Place): string {
  return derivedName(task, `${nameOf(from).replace("/", ".")}.done`);
}

export function gist(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

export function wordsOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
