import type { SessionState } from "./session-state.ts";

/** What is visible of a program that is idle. */
export interface IdleProgram {
  /** How its last turn ended, if its hooks tell. */
  stop: "Stop" | "StopFailure" | null;
  /** How long it has said nothing. */
  quietMs: number;
  /** A person is attached and has typed lately. */
  isAttended: boolean;
}

export interface TaskWatchPorts {
  /** Whether its state can be seen; otherwise it is only known to be quiet, and may be at work. */
  isSeen: boolean;
  /** Whether this task is still active. */
  isActive(task: string): boolean;
  /** It has asked somebody something since it was told something: it may wait for the answer. */
  isWaiting(): boolean;
  /** Undefined if it works, asks something, or has ended. */
  idle(): Promise<IdleProgram | undefined>;
  /** Types a reminder; `mark` is a part of it that nothing else has. */
  remind(text: string, mark: string): Promise<void>;
  /** Its task has failed. */
  giveUp(why: string): Promise<void>;
  /** Something waits for a person at its terminal. */
  waitsForPerson(why: string): void;
  dialogText(): Promise<string>;
}

/** How long it may be idle before each reminder; after the last one the task is given up. */
export interface Patience {
  /** After the end of a turn, or at rest as far as can be seen. */
  rest: readonly number[];
  /** For a program of which only its silence is known. */
  quiet: readonly number[];
  /** After a failed request to its model. */
  failure: readonly number[];
  /** How long a dialog may stay unanswered before a person is told, and how often an attended terminal is looked at. */
  dialog: number;
  attended: number;
}

const [SECOND, MINUTE] = [1_000, 60_000];

export const PATIENCE: Patience = {
  rest: [2 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE],
  quiet: [5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 30 * MINUTE],
  failure: [0.5, 2, 8, 30, 60, 60, 60, 60, 60, 60, 60, 60].map((minutes) => minutes * MINUTE),
  dialog: 15 * SECOND,
  attended: MINUTE,
};

/**
 * Watches the task of a program in a terminal, so that it does not stay idle for ever.
 *
 * TASK-WATCH-1. A program that is idle before its task has ended is reminded a few times, at growing intervals; then
 *     the task is given up. If only its silence is known, or its model cannot be reached, a person is told instead.
 * TASK-WATCH-2. It is not reminded while it waits for an answer, nor while a person is attached to its terminal.
 * TASK-WATCH-3. A dialog that stays open is put into the person's inbox.
 */
export class TaskWatch {
  readonly #ports: TaskWatchPorts;
  readonly #patience: Patience;
  #task: string | undefined;
  #state: SessionState = "starting";
  /** Since when it rests, or was told something. */
  #since = performance.now();
  #reminders = 0;
  #failures = 0;
  #hasGivenUp = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(ports: TaskWatchPorts, patience: Patience = PATIENCE) {
    this.#ports = ports;
    this.#patience = patience;
  }

  /** The task that it was told last, as long as it is active. */
  get task(): string | undefined {
    if (this.#task !== undefined && !this.#ports.isActive(this.#task)) this.#task = undefined;
    return this.#task;
  }

  /** It was told a task, or something else. */
  told(task: string | undefined): void {
    if (task !== undefined) this.#task = task;
    this.#reminders = 0;
    this.#failures = 0;
    this.#hasGivenUp = false;
    this.#since = performance.now();
    this.#arm();
  }

  entered(state: SessionState): void {
    this.#state = state;
    this.#since = performance.now();
    this.#arm();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  get #isResting(): boolean {
    return this.#state === "idle" || this.#state === "ready";
  }

  #arm(ms?: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    if (this.#state === "dialog") this.#after(ms ?? this.#patience.dialog, () => this.#tellOfDialog());
    else if (this.#isResting && !this.#hasGivenUp && this.task !== undefined)
      this.#after(ms ?? (this.#ports.isSeen ? this.#patience.rest : this.#patience.quiet)[0] ?? 0, () => this.#check());
  }

  #after(ms: number, act: () => Promise<void>): void {
    this.#timer = setTimeout(() => void act().catch(() => {}), ms);
    this.#timer.unref();
  }

  /** TASK-WATCH-3. */
  async #tellOfDialog(): Promise<void> {
    const text = await this.#ports.dialogText();
    if (this.#state === "dialog" && !this.#isClosed) this.#ports.waitsForPerson(`it asks something:\n\n${text}\n\n`);
  }

  async #check(): Promise<void> {
    const { task } = this;
    const idle = await this.#ports.idle();
    // Whatever ends these tells it something, or changes its state, and then this is done again: TASK-WATCH-2.
    if (task === undefined || !idle || !this.#isResting || this.#isClosed || this.#ports.isWaiting()) return;
    if (idle.isAttended) return this.#arm(this.#patience.attended);
    const left = this.#patienceFor(idle) - this.#restedMs(idle);
    if (left > 0) return this.#arm(left);
    this.#since = performance.now();
    if (idle.stop === "StopFailure") await this.#tryAgain(task);
    else await this.#remind(task);
    this.#arm();
  }

  #restedMs({ quietMs }: IdleProgram): number {
    const rested = performance.now() - this.#since;
    return this.#ports.isSeen ? rested : Math.min(rested, quietMs);
  }

  #patienceFor({ stop }: IdleProgram): number {
    const { rest, quiet, failure } = this.#patience;
    if (stop === "StopFailure") return failure[this.#failures] ?? 0;
    return (this.#ports.isSeen ? rest : quiet)[this.#reminders] ?? 0;
  }

  /** TASK-WATCH-1. */
  async #remind(task: string): Promise<void> {
    const { isSeen } = this.#ports;
    const most = (isSeen ? this.#patience.rest : this.#patience.quiet).length - 1;
    const times = most === 1 ? "once" : `${most} times`;
    if (this.#reminders < most) {
      const mark = `Reminder ${++this.#reminders} of ${most}`;
      await this.#ports.remind(`[tx] ${mark}: your task ${task} has not ended. ${HOW_TO_END}`, mark);
      return;
    }
    this.#hasGivenUp = true;
    if (isSeen) await this.#ports.giveUp(`It stopped without ending its task, and was reminded ${times}.`);
    else
      this.#ports.waitsForPerson(
        `it has been quiet for a long time, was reminded ${times}, and has not ended ${task}. `,
      );
  }

  async #tryAgain(task: string): Promise<void> {
    const most = this.#patience.failure.length - 1;
    if (this.#failures < most) {
      const mark = `Attempt ${++this.#failures} of ${most}`;
      await this.#ports.remind(
        `[tx] ${mark}: the last request to your model failed. Go on with ${task}. ${HOW_TO_END}`,
        mark,
      );
      return;
    }
    this.#hasGivenUp = true;
    this.#ports.waitsForPerson(`its requests to its model fail, and ${task} has not ended. `);
  }
}

const HOW_TO_END =
  'If it is done: tx done "what you did". If it cannot be done: tx done --failed "why". Otherwise go on with it.';
