import type { QueueName } from "../files/layout.ts";
import { readMessage } from "../files/mesh-message.ts";
import { derivedName } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";

/** How a task can end. Its end text is stored beside it in `complete`, under its name with this suffix. */
const ENDS = ["result", "error"] as const;
export type TaskEndKind = (typeof ENDS)[number];

/** Whether a file holds the end text of a task. */
export function isEnd(name: string): boolean {
  return /\.(?:result|error)(?:~\d+)?\.md$/.test(name);
}

/** The end texts of one agent's tasks, as far as they are in its queues. */
export class TaskEnds {
  readonly #queues: Queues;
  readonly #agent: string;

  constructor(queues: Queues, agent: string) {
    this.#queues = queues;
    this.#agent = agent;
  }

  /** How the task ended; undefined if the agent has said nothing. */
  endOf(task: string): TaskEndKind | undefined {
    return ENDS.find((end) => this.#queues.has("complete", derivedName(task, end)));
  }

  has(task: string): boolean {
    return this.endOf(task) !== undefined;
  }

  /** Whether the words came after the task came to where it is now. */
  cameAfter(queue: QueueName, task: string): boolean {
    const end = this.endOf(task);
    return end !== undefined && this.#queues.cameBefore([queue, task], ["complete", derivedName(task, end)]);
  }

  /** The words with which the agent ended a task. */
  wordsOf(task: string, end: TaskEndKind = "result"): string {
    const result = readMessage(this.#queues, "complete", derivedName(task, end));
    if (!result || "reason" in result) return `(${this.#agent} wrote no result text; its files are in shared/output/.)`;
    return result.body.trim();
  }

  /** The task is to be done again: the words that ended it before do not end it now. */
  archive(task: string): void {
    for (const end of ENDS) {
      const old = derivedName(task, end);
      if (this.#queues.has("complete", old)) this.#queues.move(old, "complete", "archive", (one) => one === old);
    }
  }
}
