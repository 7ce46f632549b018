import { relative } from "node:path";
import { addressName, type Layout, type MeshAddress } from "./layout.ts";
import type { MeshMessage } from "./mesh-message.ts";
import { titleOf } from "./message-file.ts";
import { headOf } from "./message-names.ts";

/**
 * How an agent speaks: by `tx` in a terminal, by tools as a model in our loop or as a program without a terminal, or by
 * files.
 */
export type SpeaksBy = "terminal" | "model" | "tools" | "files";

interface Speaker {
  by: SpeaksBy;
  /** The agent that gets the task if this one does not succeed. */
  backTo?: string | undefined;
}
const TYPES: Speaker = { by: "terminal" };

/** A message as an agent reads it: who says it, what is wanted, how to answer. */
export function messageText(
  layout: Layout,
  address: MeshAddress,
  message: MeshMessage,
  speaker: Speaker = TYPES,
): string {
  const { head, tail: typed } = frameOf(layout, address, message);
  const tail = speaker.by === "terminal" || typed === "" ? typed : toolTail(message, speaker.backTo);
  const text = message.body.trim();
  const from = speaker.by === "model" ? layout.mesh(address.mesh) : layout.project;
  const rest = `…\n(The rest is in ${fileOf(layout, address, message, from)})`;
  const shown = text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}${rest}`;
  return [head, shown, tail].filter((part) => part !== "").join("\n\n");
}

/**
 * The same in one line, for any command in a terminal: a program that reads line by line would take several lines for
 * several messages. The line names the file with the whole message.
 */
export function messageLine(layout: Layout, address: MeshAddress, message: MeshMessage): string {
  const { head, tail } = frameOf(layout, address, message);
  // The title of a task is in the head already.
  const body = message.header.type === "task" ? message.body.replace(/^\s*(?:#\s)?[^\n]*/, "") : message.body;
  const text = oneLine(body);
  const room = MOST_BYTES - Buffer.byteLength(`${head} ${tail}`);
  const cut = `… (The rest is in ${fileOf(layout, address, message)})`;
  const shown = Buffer.byteLength(text) <= room ? text : `${headOf(text, room - Buffer.byteLength(cut))}${cut}`;
  return oneLine(`${head} ${shown} ${tail}`);
}

function frameOf(layout: Layout, address: MeshAddress, message: MeshMessage): { head: string; tail: string } {
  const { name, header, body } = message;
  const { type, from } = header;
  switch (type) {
    case "task":
      return {
        head: `${MARK} Task ${name} for ${addressName(address)} from ${from}: ${titleOf(body)}`,
        tail: `(It is in ${fileOf(layout, address, message)}. When it is done: tx done "what you did". If it cannot be done: tx done --failed "why".)`,
      };
    case "ask":
      return {
        head: `${MARK} Question ${name} from ${from}:`,
        tail: `(Answer: tx send ${from} --answer ${replyIdOf(name, header)} "your answer". Then go on with what you were doing.)`,
      };
    case "ask-response":
      return { head: `${MARK} Answer ${name} from ${from}:`, tail: "" };
    case "task-complete":
      return { head: `${MARK} Done ${name}: ${from} says:`, tail: "" };
    case "error":
      return { head: `${MARK} Failed ${name}: ${from} says:`, tail: "" };
  }
}

/** What a new session is told with a task that its former one did not end. */
export const BEGUN_BEFORE =
  "An earlier session of yours was given this task and ended before it was done. Look first at what is there already.";

/** The same for an agent that has `tx` as tools. */
function toolTail({ name, header }: MeshMessage, backTo: string | undefined): string {
  const refuse =
    backTo === undefined
      ? "If it cannot be done: tx_done with failed and why."
      : `If what you check is not right, or it cannot be done: tx_done with failed and why; it goes back to ${backTo}.`;
  if (header.type === "task") return `(When it is done, call tx_done. ${refuse})`;
  return `(Answer: tx_send to ${header.from} with answers ${replyIdOf(name, header)}. Then go on with what you were doing.)`;
}

/** The file of a message after it was told, as seen from a folder. */
function fileOf(layout: Layout, address: MeshAddress, { name, header }: MeshMessage, from = layout.project): string {
  const queue = header.type === "task" ? "active" : "complete";
  return `${relative(from, layout.queue(address, queue))}/${name}`;
}

/** The prompt says that what begins like this comes from us. */
const MARK = "[tx]";
const LONGEST = 8_000;
/** The kernel cuts a typed line at 4,096 bytes. */
const MOST_BYTES = 3_000;

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The id by which an answer refers to a message. */
function replyIdOf(name: string, header: MeshMessage["header"]): string {
  return header["msg-id"] ?? name.replace(/\.md$/, "");
}
