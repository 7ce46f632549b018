import { Intake } from "./intake.ts";
import { nameOf, type QueueName } from "./layout.ts";
import { derivedName, isStep, type Letter, looksLikeStep, readLetter, stemOf } from "./letter.ts";
import { titleOf } from "./message-file.ts";
import { gist, type Office, wordsOfError } from "./office.ts";
import type { Queues } from "./queue.ts";
import { type Route, routeOf } from "./route.ts";

/**
 * One agent's desk: what it is told, what it says, and how its tasks end.
 *
 * K1. A letter is told until the agent has it: again after a failure, after a restart, and when its member is another.
 * K2. Who sends is told by the folder. A header that says otherwise is not believed.
 * K3. An end is for the task it names; where it names none, for the one that is active.
 */
export class Desk {
  readonly queues: Queues;
  readonly #agent: string;
  readonly #office: Office;
  readonly #settle: () => void;
  readonly #intake: Intake;
  /** By the name of the letter: which attempt to tell it counts. */
  readonly #told = new Map<string, { attempt: number; queue: "inbox" | "active"; failed: boolean }>();
  #attempts = 0;

  constructor(queues: Queues, agent: string, office: Office, settle: () => void) {
    this.queues = queues;
    this.#agent = agent;
    this.#office = office;
    this.#settle = settle;
    this.#intake = new Intake(queues, office, {
      news: (letter) => this.#tellNews(letter),
      isTaken: (waiting) => !isStep(waiting) && this.#isTaken(waiting),
      movesUp: (waiting) => isStep(waiting) && this.#forgetEnds(waiting.name),
    });
  }

  /** Moves what can be moved; true when something was. */
  advance(): boolean {
    for (const [name, { queue }] of this.#told) if (!this.queues.has(queue, name)) this.#told.delete(name);
    let moved = this.#intake.advance();
    for (const name of this.queues.list("outbox")) moved = this.#takeOut(name) || moved;
    const active = this.queues.first("active");
    if (active !== undefined) {
      // Cut off between its words and its end: E1. Who was told it in this life ends it by what it says.
      if (!this.#told.has(active) && this.#hasEnd(active)) return this.#end(active, "active");
      return this.#tellTask(active) || moved;
    }
    const next = this.queues.first("next");
    if (next === undefined) return moved;
    const name = this.queues.move(next, "next", "active");
    if (name !== undefined) this.#office.record({ type: "mesh.activated", data: { ...this.queues.place, name } });
    return true;
  }

  /** Somebody moved this file here by hand, and is right. */
  byHand(queue: QueueName, name: string): void {
    if (queue === "next" || queue === "active") this.#forgetEnds(name);
    if (queue === "complete" && isEnd(name)) this.#wordsByHand();
    else if (queue === "complete" || queue === "archive") this.#endedByHand(queue, name);
  }

  /** Somebody wrote for the agent the words that end its task. */
  #wordsByHand(): void {
    const active = this.queues.first("active");
    if (active !== undefined && this.#hasEnd(active)) this.#end(active, "active");
  }

  #hasEnd(task: string): boolean {
    return ENDS.some((end) => this.queues.has("complete", derivedName(task, end)));
  }

  /** A task that somebody moved to where it is over. */
  #endedByHand(queue: QueueName, name: string): void {
    const task = readLetter(this.queues, queue, name);
    if (!task || "reason" in task || task.header.type !== "task") return;
    this.#office.ended(this.queues.place, name, ...this.#answer(task));
  }

  /** A task that is over: whoever asked for it hears so, unless they did. */
  owed(queue: QueueName, name: string): void {
    const task = readLetter(this.queues, queue, name);
    if (task && !("reason" in task) && task.header.type === "task") this.#answer(task);
  }

  #answer(task: Letter): [End, string] {
    const end = ENDS.find((one) => this.queues.has("complete", derivedName(task.name, one)));
    const words = end === undefined ? HAND : this.resultOf(task.name, end);
    const type = end === "error" ? "error" : "task-complete";
    if (!isStep(task)) this.#office.answer(task, type, words, this.queues.place);
    return [end ?? "result", words];
  }

  /** Somebody can hear again, or is somebody else: what it has not ended is told now. */
  tellAgain(): void {
    for (const [name, { queue }] of this.#told) {
      this.#told.delete(name);
      if (queue === "inbox") this.queues.markUnread(name);
    }
  }

  /** The words with which it ended a task. */
  resultOf(message: string, end: End = "result"): string {
    const result = readLetter(this.queues, "complete", derivedName(message, end));
    if (!result || "reason" in result) return `(${this.#agent} left no words; what it made is in shared/output/.)`;
    return result.body.trim();
  }

  /** A step keeps the name by which its mesh finds it; any other task gets one that nothing followed from. */
  #isTaken(waiting: Pick<Letter, "name" | "header">): boolean {
    const { name } = waiting;
    return (
      (["active", "complete", "archive"] as const).some((queue) => this.queues.has(queue, name)) ||
      this.#hasEnd(name) ||
      looksLikeStep(name) ||
      this.#office.isAnswered(waiting, this.queues.place)
    );
  }

  /** It is to be done again: the words with which it ended before do not end it now. */
  #forgetEnds(name: string): void {
    for (const end of ENDS) {
      const old = derivedName(name, end);
      if (this.queues.has("complete", old)) this.queues.move(old, "complete", "archive", (one) => one === old);
    }
  }

  /** It stays in the inbox until the agent has it: told twice after a crash rather than never. */
  #tellNews(letter: Letter): boolean {
    const { type, from } = letter.header;
    const data = { ...this.queues.place, name: letter.name, type, from, title: titleOf(letter.body) };
    this.#office.record({ type: "mesh.received", data });
    this.#tell(letter, "inbox", () => {
      this.queues.move(letter.name, "inbox", "complete");
      this.#told.delete(letter.name);
    });
    return false;
  }

  #tellTask(name: string): boolean {
    if (this.#told.has(name)) return false;
    const letter = readLetter(this.queues, "active", name);
    if (letter === undefined) return this.queues.noticed("active", name);
    if ("reason" in letter) return this.#office.putAside(this.queues, "active", name, letter.reason);
    this.#tell(letter, "active", () => {});
    return false;
  }

  #tell(letter: Letter, queue: "inbox" | "active", taken: () => void): void {
    const { name } = letter;
    const attempt = ++this.#attempts;
    this.#told.set(name, { attempt, queue, failed: false });
    const where = { ...this.queues.place, name };
    const isLate = () => !this.#office.isOpen || this.#told.get(name)?.attempt !== attempt;
    const telling = async () => this.#office.ports.tell(this.#agent, letter);
    void telling()
      .then(
        () => {
          if (!this.#office.isOpen) return;
          // Also where it was ended before we heard that it was taken.
          this.#office.record({ type: "mesh.told", data: where });
          if (isLate()) return;
          taken();
          this.#tellFailed();
          this.#settle();
        },
        (error: unknown) => {
          if (isLate()) return;
          this.#told.set(name, { attempt, queue, failed: true });
          this.#office.record({ type: "mesh.undelivered", data: { ...where, why: gist(wordsOfError(error)) } });
        },
      )
      // What could not be moved now (a full disk) is moved by the next settling.
      .catch(() => this.#settle());
  }

  /** It hears: what could not be told before is tried again. */
  #tellFailed(): void {
    for (const [name, { queue, failed }] of this.#told) {
      if (!failed) continue;
      this.#told.delete(name);
      if (queue === "inbox") this.queues.markUnread(name);
    }
  }

  #takeOut(name: string): boolean {
    const letter = readLetter(this.queues, "outbox", name);
    if (letter === undefined) return this.queues.noticed("outbox", name);
    if ("reason" in letter) return this.#office.putAside(this.queues, "outbox", name, letter.reason);
    const { place } = this.queues;
    const route = routeOf(letter.header, place, this.#office.ports.directory());
    const why = route.kind === "nowhere" ? route.reason : this.#liesAbout(letter, route);
    if (why !== undefined) return this.#office.putAside(this.queues, "outbox", name, why);
    return this.#carry(letter, route);
  }

  /** K2. Within its mesh an agent may call itself by its short name. */
  #liesAbout({ header: { from } }: Letter, route: Route): string | undefined {
    const own = nameOf(this.queues.place);
    if (from === own) return undefined;
    if (from !== this.#agent) return `"from" says ${from}, but it lies in the outbox of ${own}.`;
    const leaves = "mesh" in route && route.mesh !== this.queues.place.mesh;
    return leaves ? `"from" says ${from}; whoever is in another mesh needs ${own} to answer.` : undefined;
  }

  #carry(letter: Letter, route: Route): boolean {
    const { ports } = this.#office;
    switch (route.kind) {
      case "done":
      case "failed":
        return this.#takeEnd(letter, route.kind === "done" ? "result" : "error");
      case "human":
        return this.#toHuman(letter);
      case "house":
        return this.#office.toHouse(this.queues, letter.name);
      case "agent":
      case "mesh": {
        const to = ports.queuesOf(route.mesh, route.kind === "agent" ? route.agent : null);
        if (!to)
          return this.#office.putAside(
            this.queues,
            "outbox",
            letter.name,
            `${letter.header.to} is not there any more.`,
          );
        const moved = this.queues.moveTo(letter.name, "outbox", to, "inbox") !== undefined;
        if (route.mesh !== this.queues.place.mesh) ports.changed(route.mesh);
        return moved;
      }
      case "nowhere":
        return false;
    }
  }

  /** The human is handed each name once, so a second message of a name gets another before. */
  #toHuman(letter: Letter): boolean {
    const isTaken = (name: string) => this.queues.has("complete", name) || this.queues.has("archive", name);
    const { name } = letter;
    if (isTaken(name)) return this.queues.move(name, "outbox", "outbox", isTaken) !== undefined;
    this.#office.ports.human(this.#agent, letter);
    return this.queues.move(name, "outbox", "complete") !== undefined;
  }

  /** K3. */
  #takeEnd(letter: Letter, end: End): boolean {
    const active = this.queues.first("active");
    const named = letter.header["in-reply-to"];
    const meant = named === undefined ? active : `${stemOf(named)}.md`;
    const where = meant === undefined ? undefined : this.queues.find(meant);
    if (meant === undefined || where === undefined) {
      const why =
        meant === undefined
          ? "There is nothing in active/ that this could be the end of."
          : `"in-reply-to" says ${named}, but there is no such task here; active is ${active ?? "nothing"}.`;
      return this.#office.putAside(this.queues, "outbox", letter.name, why);
    }
    // Of a task that is over it is kept beside it and changes nothing: said twice, or ended by a person meanwhile.
    if (!this.queues.moveAs(letter.name, "outbox", "complete", derivedName(meant, end))) return true;
    return where === "active" || where === "inbox" || where === "next" ? this.#end(meant, where) : true;
  }

  /** E1: the answer first, then the task leaves the queue it is in. */
  #end(name: string, from: "active" | "inbox" | "next"): boolean {
    const task = readLetter(this.queues, from, name);
    if (task === undefined) return this.queues.noticed(from, name);
    if ("reason" in task) return this.#office.putAside(this.queues, from, name, task.reason);
    const [end, words] = this.#answer(task);
    if (this.queues.move(name, from, "complete") === undefined) return true;
    this.#told.delete(name);
    this.#office.ended(this.queues.place, name, end, words);
    return true;
  }
}

/** The words with which an agent ended its task lie beside it in `complete`, under its name. */
const ENDS = ["result", "error"] as const;
export type End = (typeof ENDS)[number];

export function isEnd(name: string): boolean {
  return /\.(?:result|error)(?:~\d+)?\.md$/.test(name);
}

const HAND = "(It was moved to complete/ by hand; there are no words.)";
