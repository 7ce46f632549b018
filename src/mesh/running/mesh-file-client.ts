import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { MessageHeader } from "../../protocol/index.ts";
import { type FolderWatch, watchFolder } from "../../store/disk/watch-folder.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { leaves } from "../declaration/topology.ts";
import type { Layout, QueueName } from "../files/layout.ts";
import { type MeshMessage, postMessage, readMessageFile } from "../files/mesh-message.ts";
import { BOARD, derivedName, stemOf } from "../files/message-names.ts";
import { Queues } from "../files/queue.ts";
import { isMessageName } from "../files/queue-files.ts";

/**
 * Sends tasks to a mesh and reads its messages, only through files: it does not matter which process moves them.
 *
 * MESH-OUTSIDE-1. A task is sent once: if its name is in any queue, it is not sent again.
 * MESH-OUTSIDE-2. Messages of the mesh to the board wait in its outbox until they are taken.
 */
export class MeshFileClient {
  readonly #layout: Layout;
  readonly #declared: DeclaredMesh;
  readonly #queues: Queues;
  #watcher: FolderWatch | undefined;

  constructor(layout: Layout, declared: DeclaredMesh) {
    this.#layout = layout;
    this.#declared = declared;
    this.#queues = new Queues(layout, { mesh: declared.config.mesh, agent: null });
  }

  get name(): string {
    return this.#declared.config.mesh;
  }

  /** The queue that a message to the mesh is in. Searched in the order in which it moves, so that none is missed. */
  find(name: string): QueueName | undefined {
    return WAY.find((queue) => existsSync(this.#queues.path(queue, name)));
  }

  /** MESH-OUTSIDE-1. */
  give(name: string, body: string, now: Date): void {
    if (this.find(name) === undefined) this.#post(name, "task", body, now);
  }

  /** A question, or news, for its entry agent. */
  ask(about: string, body: string, now: Date): void {
    this.#post(derivedName(about, "ask"), "ask", body, now);
  }

  /** When the mesh began with a task (milliseconds), by the file that its first agent was given; 0 if that is gone. */
  began(name: string): number {
    const { mesh } = this.#declared.config;
    for (const { agent, at } of leaves(this.#declared.plan)) {
      for (const queue of WAY) {
        const path = join(this.#layout.queue({ mesh, agent }, queue), derivedName(name, at));
        const given = statSync(path, { throwIfNoEntry: false });
        if (given) return given.mtimeMs;
      }
    }
    return 0;
  }

  /** What the mesh has said and nobody has taken yet, the oldest first. */
  said(): MeshMessage[] {
    const dir = this.#queues.dir("outbox");
    const names = existsSync(dir) ? readdirSync(dir).filter((name) => isMessageName(name, "outbox")) : [];
    const found = names.flatMap((name) => {
      const path = join(dir, name);
      const message = readMessageFile(path, name);
      const came = statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0;
      return message && !("reason" in message) ? [{ message, came }] : [];
    });
    return found.toSorted((a, b) => a.came - b.came).map(({ message }) => message);
  }

  /** The end of a task, as the mesh itself says it. */
  isEndOf(task: string, { header: { from, type, "in-reply-to": of } }: MeshMessage): boolean {
    return from === this.name && of === stemOf(task) && (type === "task-complete" || type === "error");
  }

  /** The message was dealt with. */
  take({ name }: MeshMessage): void {
    this.#queues.moveAs(name, "outbox", "complete", derivedName(name, "taken"));
  }

  /** The ends of these tasks were dealt with. They keep their names, so that the mesh does not say them again. */
  takeEnds(isMeant: (task: string) => boolean): void {
    for (const message of this.said()) {
      const task = message.header["in-reply-to"] ?? "";
      if (isMeant(task) && this.isEndOf(task, message)) this.#queues.move(message.name, "outbox", "complete");
    }
  }

  /** Called when its outbox changes. Call it again after the mesh was put away: it has another outbox then. */
  watch(changed: () => void): void {
    this.#watcher?.close();
    mkdirSync(this.#queues.dir("outbox"), { recursive: true });
    this.#watcher = watchFolder(this.#queues.dir("outbox"), changed);
  }

  close(): void {
    this.#watcher?.close();
  }

  #post(name: string, type: MessageHeader["type"], body: string, now: Date): void {
    const header: MessageHeader = {
      from: BOARD,
      to: this.name,
      type,
      status: "pending",
      timestamp: now.toISOString(),
    };
    mkdirSync(this.#queues.dir("inbox"), { recursive: true });
    postMessage(this.#queues, "inbox", { name, header, body }, this.#layout.tmp);
  }
}

const WAY = ["inbox", "next", "active", "complete", "archive", "quarantine"] as const;
