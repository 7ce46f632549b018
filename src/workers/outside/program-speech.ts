import type { NewFact, Outcome, UserEntry } from "../../protocol/index.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import type { ProgramBudget } from "./program-budget.ts";
import type { SilenceWatchdog } from "./silence-watchdog.ts";
import type { Transcript } from "./transcript.ts";

export interface SpeechPorts {
  transcript: Transcript;
  budget: ProgramBudget;
  watchdog: SilenceWatchdog;
  signal: AbortSignal;
  isOver(): boolean;
  /** Something it asked its human has no answer yet. */
  waitsForHuman(): boolean;
  /** Whether what is said to it now reaches it before its turn is over. */
  hears(): boolean;
  /** To the process that runs now. */
  speak(words: string): Promise<void>;
}

/**
 * All that is said to a program during its run.
 *
 * SPEECH-1. One after the other: what is taken from the mailbox is on disk, and then said, before anything else is
 *     taken.
 * SPEECH-2. Mail is told as soon as it is there, if the program hears while it works; else with the next result of one
 *     of our tools, or when its turn is over. Only results wait for each other if the program asked for that.
 * SPEECH-3. Nothing is said during a restart: what was being said is on record before the restart decides what to say
 *     again.
 * SPEECH-4. Nothing is taken from the mailbox for a program that has gone: the next one on this work is told it.
 * SPEECH-5. A turn that is over is answered, or waits for something that is on record, and then costs nothing.
 * SPEECH-6. Mail counts as received when it is on its way to the program's model, and not before.
 */
export class ProgramSpeech {
  readonly #assignment: ProgramAssignment;
  readonly #ports: SpeechPorts;
  #saying: Promise<void> = Promise.resolve();
  #reminders = 0;
  #waitsFor: "nothing" | "news" | "all" = "nothing";
  #isSeenWaiting = false;
  /** What it could not hear yet. */
  #postponed: { entries: UserEntry[]; facts: NewFact[] }[] = [];

  constructor(assignment: ProgramAssignment, ports: SpeechPorts) {
    this.#assignment = assignment;
    this.#ports = ports;
  }

  /** It has said that it can do nothing before there is news; with `all`, before all that it handed out is over. */
  waits(all: boolean): void {
    this.#waitsFor = all ? "all" : "news";
  }

  /** It did something: only replies without a call in a row count. */
  acts(): void {
    this.#reminders = 0;
  }

  async listen(): Promise<void> {
    while (!this.#ports.isOver()) {
      await this.#assignment.mailbox.arrived(this.#ports.signal, () => this.#hasNews && this.#canHear);
      // What stays in the mailbox of a program that has gone would arrive again at once, without end.
      if (this.#assignment.hasEnded() || this.#isUnheard) return;
      await this.#tell();
    }
  }

  /** There is something that it cannot hear while it works. */
  get hasUntold(): boolean {
    return !this.#canHear && !this.#isUnheard && (this.#hasNews || this.#postponed.length > 0);
  }

  /** All that it was not told yet, to be told with the result of a call; empty where it hears by itself. */
  async withResult(): Promise<string> {
    let words = "";
    await this.between(async () => {
      if (!this.hasUntold) return;
      const postponed = this.#takePostponed();
      // Anything it is told ends its wait, as in `#say`.
      const entries = [...postponed.entries, ...this.#assignment.news()];
      this.#waitsFor = "nothing";
      await this.#ports.transcript.heard(entries, postponed.facts);
      words = entries.map(({ content }) => content).join("\n\n");
    });
    return words;
  }

  say(what: UserEntry[] | (() => UserEntry[]), facts: NewFact[]): Promise<void> {
    return this.between(() => this.#say(what, facts));
  }

  /** Acts when all that is being said is said; what is to be said meanwhile waits. */
  between<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#saying.then(act);
    this.#saying = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  /** Its turn is over and the work is not: it is told the news, waits for something, or is reminded; or this is the end. */
  async next(lastWords: string): Promise<Outcome | undefined> {
    const { self } = this.#assignment;
    if (this.#hasNews || this.#postponed.length > 0) return this.#tell();
    const reason = this.#ports.waitsForHuman()
      ? "human"
      : ((await this.#assignment.waitsFor()) ?? (this.#waitsFor === "nothing" ? null : "news"));
    if (reason === "news") {
      this.#assignment.mailbox.hearColleagues();
      if (this.#hasNews) return this.#tell();
    }
    if (reason !== null) {
      this.#isSeenWaiting = true;
      const { worker_id, node_id } = self;
      await this.#ports.transcript.note({ type: "worker.waiting", data: { worker_id, node_id, for: reason } });
      // It may have come while that was decided.
      return this.#hasNews ? this.#tell() : undefined;
    }
    this.#reminders += 1;
    const next = await this.#assignment.onReplyWithoutCall(lastWords, this.#reminders);
    if (!Array.isArray(next)) return next;
    await this.say(next, []);
    return undefined;
  }

  /** Whether there is something to tell: while it waits for all results, a single one is not told. */
  get #hasNews(): boolean {
    const { mailbox, othersWork } = this.#assignment;
    if (mailbox.waiting === 0) return false;
    return this.#waitsFor !== "all" || mailbox.hasMoreThanResults || !othersWork();
  }

  /** There is no program any more that could hear it. */
  get #isUnheard(): boolean {
    return this.#ports.isOver() || this.#ports.watchdog.state === "gone";
  }

  /** It rests, or hears while it works. */
  get #canHear(): boolean {
    return this.#ports.watchdog.state !== "busy" || this.#ports.hears();
  }

  #takePostponed(): { entries: UserEntry[]; facts: NewFact[] } {
    const postponed = this.#postponed.splice(0);
    return { entries: postponed.flatMap(({ entries }) => entries), facts: postponed.flatMap(({ facts }) => facts) };
  }

  async #tell(): Promise<undefined> {
    await this.between(async () => {
      if (!this.#canHear) return;
      const { entries, facts } = this.#takePostponed();
      await this.#say(() => [...entries, ...this.#assignment.news()], facts);
    });
  }

  async #say(what: UserEntry[] | (() => UserEntry[]), facts: NewFact[]): Promise<void> {
    const { transcript, budget, watchdog, speak } = this.#ports;
    if (this.#isUnheard) return;
    if (!this.#canHear) {
      // Mail stays in the mailbox until it can be told.
      const entries = typeof what === "function" ? [] : what;
      if (entries.length + facts.length > 0) this.#postponed.push({ entries, facts });
      return;
    }
    if (watchdog.state === "resting") {
      await budget.begin();
      // That may take long, and the program may have been stopped meanwhile.
      if (this.#isUnheard) return budget.rest();
    }
    const said = typeof what === "function" ? what() : what;
    // Anything it is told ends its wait: results that were postponed are told with it.
    const entries = this.#waitsFor === "all" && said.length > 0 ? [...said, ...this.#assignment.news()] : said;
    if (entries.length === 0) return watchdog.state === "resting" ? budget.rest() : undefined;
    const { worker_id, node_id } = this.#assignment.self;
    const busy: NewFact[] = this.#isSeenWaiting ? [{ type: "worker.busy", data: { worker_id, node_id } }] : [];
    this.#isSeenWaiting = false;
    this.#waitsFor = "nothing";
    watchdog.starts();
    await transcript.heard(entries, [...busy, ...facts]);
    transcript.thinks();
    await speak(entries.map(({ content }) => content).join("\n\n"));
  }
}
