import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Situation } from "../../projections/index.ts";
import type { NewFact } from "../../protocol/index.ts";
import { LONGEST_WORDS } from "../../protocol/words.ts";
import { writeFileAtomic } from "../../store/disk/atomic-file.ts";
import { codeOf } from "../../store/disk/disk.ts";
import type { PendingLog } from "./pending-log.ts";
import type { AgentStart, WhyStarted } from "./start-facts.ts";

/** Text of at most four bytes per character. */
const MOST_BYTES = 4 * LONGEST_WORDS;

interface GoalPorts {
  log: Pick<PendingLog, "dir" | "append">;
  pending(): Situation;
}

type Read = { goal: string } | { refused: string } | "as it was";

/**
 * `GOAL.md` belongs to the person: what they write there is the goal from the next start or waking on. We write it only
 * before the fact that makes it true, so a difference from the record was written by somebody else.
 */
export class GoalFile {
  readonly #ports: GoalPorts;
  readonly #path: string;
  /** Said once, not at each waking. */
  #refused: string | undefined;

  constructor(ports: GoalPorts) {
    this.#ports = ports;
    this.#path = join(ports.log.dir, "GOAL.md");
  }

  /** What the person wrote there since the last run; a new goal goes there, unless they just wrote another. */
  async changesAtStart(why: WhyStarted, { goal, trigger }: AgentStart): Promise<NewFact[]> {
    if (why === "created") return [];
    const changes = await this.#changes();
    const isEdited = changes.some(({ type }) => type === "goal.set");
    if (why === "new_goal" && goal !== undefined && !trigger && !isEdited) await this.#write(goal);
    return changes;
  }

  /** Records what the person wrote there during a run. */
  async recordChanges(): Promise<void> {
    const { run } = this.#ports.pending().agent;
    if (!run || run.finished) return;
    const facts = await this.#changes();
    if (facts.length > 0) await this.#ports.log.append({ facts }).durable;
  }

  /** What a person changed there since, as facts to be appended at once. The goal of a run under way changes with it. */
  async #changes(): Promise<NewFact[]> {
    const read = await this.#read();
    if (read === "as it was") return [];
    const { run } = this.#ports.pending().agent;
    // What a trigger asks for stays the task of its run.
    const isOfRun = run !== null && !run.finished && !run.trigger;
    if ("goal" in read) return [{ type: "goal.set", data: { goal: read.goal, ...(isOfRun && { run_id: run.id }) } }];
    if (read.refused === this.#refused) return [];
    this.#refused = read.refused;
    return [{ type: "goal.refused", data: { why: read.refused } }];
  }

  /** Before the fact that makes it so: a crash in between means that it is read as a person's own words. */
  async #write(goal: string): Promise<void> {
    try {
      await writeFileAtomic(this.#path, `${goal.trim()}\n`);
    } catch (error) {
      // A folder that is gone is made again with the file. A file that cannot be written would be read as a person's wish.
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }

  async #read(): Promise<Read> {
    let text: string;
    try {
      text = await textOf(this.#path);
    } catch (error) {
      // A file that is gone is written again; a disk that cannot be read is not a new goal.
      return error instanceof Unusable ? { refused: error.message } : "as it was";
    }
    if (text === this.#ports.pending().agent.goal.trim()) {
      this.#refused = undefined;
      return "as it was";
    }
    return { goal: text };
  }
}

class Unusable extends Error {}

async function textOf(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > MOST_BYTES) throw new Unusable(`GOAL.md is too long (at most ${LONGEST_WORDS} characters).`);
    const bytes = await file.readFile();
    const text = decoded(bytes).trim();
    if (text === "") throw new Unusable("GOAL.md is empty.");
    if (text.length > LONGEST_WORDS) throw new Unusable(`GOAL.md is too long (at most ${LONGEST_WORDS} characters).`);
    return text;
  } finally {
    await file.close();
  }
}

function decoded(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // The same answer as for a zero byte.
  }
  throw new Unusable("GOAL.md is not plain text in UTF-8.");
}
