import { rmSync } from "node:fs";
import { basename } from "node:path";
import type { MessageHeader } from "../../protocol/index.ts";
import type { Layout, MeshAddress, QueueName } from "./layout.ts";
import { type MeshMessage, postMessage, readMessageFile } from "./mesh-message.ts";
import { fileNameOf } from "./message-names.ts";
import { Queues } from "./queue.ts";

/**
 * Seed 004's operations on messages, for use from outside. They need no running mesh, since a message is a file and
 * every operation is one rename.
 */
export const Message = { send, parseMessage, getMessages, moveMessage, removeMessage };

/** Puts a task into the inbox of a mesh or of one of its agents: the task is the heading, the context the text. */
function send(layout: Layout, to: MeshAddress, task: string, context = "", metadata: HeaderFields = {}): string {
  const { now = new Date(), ...fields } = metadata;
  const queues = new Queues(layout, to);
  const header: MessageHeader = {
    from: "human",
    to: to.agent === null ? to.mesh : `${to.mesh}/${to.agent}`,
    type: "task",
    status: "pending",
    timestamp: now.toISOString(),
    ...fields,
  };
  const body = context === "" ? `# ${task}\n` : `# ${task}\n\n${context}\n`;
  // A message of the same minute may have the number already.
  const taken = (name: string) => queues.find(name) !== undefined || isThere(queues, name);
  let counter = 1;
  while (taken(fileNameOf(now, counter, task))) counter++;
  const message = { name: fileNameOf(now, counter, task), header, body };
  const name = postMessage(queues, "inbox", message, layout.tmp);
  return queues.path("inbox", name);
}

/** A reason if it is not a message; undefined if there is no such file. */
function parseMessage(path: string): MeshMessage | { reason: string } | undefined {
  return readMessageFile(path, basename(path));
}

/** In the order they came. */
function getMessages(layout: Layout, address: MeshAddress, queue: QueueName): string[] {
  const queues = new Queues(layout, address);
  queues.look();
  return queues.list(queue);
}

/** Returns its name there, or undefined if it was not there. The process that runs the mesh notices the move. */
function moveMessage(
  layout: Layout,
  address: MeshAddress,
  name: string,
  from: QueueName,
  to: QueueName,
): string | undefined {
  return new Queues(layout, address).move(name, from, to);
}

function removeMessage(path: string): void {
  rmSync(path);
}

function isThere(queues: Queues, name: string): boolean {
  return LIVE.some((queue) => parseMessage(queues.path(queue, name)) !== undefined);
}

const LIVE = ["inbox", "next", "active"] as const;

type HeaderFields = Partial<MessageHeader> & { now?: Date };
