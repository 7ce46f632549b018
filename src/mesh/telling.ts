import { relative } from "node:path";
import { type Layout, nameOf, type Place } from "./layout.ts";
import type { Letter } from "./letter.ts";
import { titleOf } from "./message-file.ts";

/** A letter in the words that an agent reads: who says it, what is wanted, how to answer. */
export function wordsFor(layout: Layout, place: Place, { name, header, body }: Letter): string {
  const { type, from } = header;
  const text = body.trim();
  const file = (queue: "active" | "complete") => `${relative(layout.project, layout.queue(place, queue))}/${name}`;
  const shown = text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…\n(The rest is in ${file(QUEUE[type])})`;
  const own = nameOf(place);
  switch (type) {
    case "task":
      return `${MARK} Task ${name} for ${own} from ${from}: ${titleOf(body)}\n\n${shown}\n\n(It is in ${file("active")}. When it is done: tx done "what you did". If it cannot be done: tx done --failed "why".)`;
    case "ask":
      return `${MARK} Question ${name} from ${from}:\n\n${shown}\n\n(Answer: tx send ${from} --answer ${idOf(name, header)} "your answer". Then go on with what you were doing.)`;
    case "ask-response":
      return `${MARK} Answer ${name} from ${from}:\n\n${shown}`;
    case "task-complete":
      return `${MARK} Done ${name}: ${from} says:\n\n${shown}`;
    case "error":
      return `${MARK} Failed ${name}: ${from} says:\n\n${shown}`;
  }
}

/** What the prompt declares as the way in which we speak. */
const MARK = "[tx]";
const LONGEST = 8_000;

/** Where a letter lies once it was told. */
const QUEUE = {
  task: "active",
  ask: "complete",
  "ask-response": "complete",
  "task-complete": "complete",
  error: "complete",
} as const;

/** By which an answer names what it answers. */
function idOf(name: string, header: Letter["header"]): string {
  return header["msg-id"] ?? name.replace(/\.md$/, "");
}
