import { readdir } from "node:fs/promises";
import { z } from "zod";
import type { Clock } from "../../../protocol/clock.ts";
import type { RunningProgram } from "../../../sandbox/program.ts";
import { appendToForeign, putFile, readPart } from "../../../store/disk/foreign-folder.ts";
import type { FolderWatch } from "../../../store/disk/watch-folder.ts";
import { PROTOCOL_FILES } from "../../../store/run/publish.ts";
import { LONGEST_SUMMARY } from "../../../tools/work.ts";
import { ErrorTail } from "../session/error-tail.ts";
import { EventQueue } from "../session/event-queue.ts";
import { printedBy } from "../session/output-lines.ts";
import type { ProgramRecord } from "../session/program-record.ts";
import type { OutsideEvent, OutsideSession, SessionSetup } from "../session/session.ts";
import {
  EMPTY_OUTBOX,
  MAX_ENTRIES,
  outboxStateSchema,
  type TakenEntry,
  takeEntries,
  type WritingState,
} from "./outbox-file.ts";
import { bothEnds, Printed } from "./printed.ts";
import { readWritten, type WrittenFile } from "./task-files.ts";

/** What must be known about a session after a restart. */
export const keptProgressSchema = z.object({
  assigned: z.int().nonnegative(),
  outbox: outboxStateSchema,
  /** Stamps of what was taken. */
  checkpoint: z.string().nullable(),
  result: z.string().nullable(),
});
export type KeptProgress = z.infer<typeof keptProgressSchema>;

export function nothingTaken(assigned: number): KeptProgress {
  return { assigned, outbox: EMPTY_OUTBOX, checkpoint: null, result: null };
}

interface Parts {
  setup: SessionSetup;
  clock: Clock;
  record: ProgramRecord<KeptProgress>;
  watcher: FolderWatch;
  running: RunningProgram;
  kept: KeptProgress;
}

/**
 * A session with a program that reads and writes files.
 *
 * AUTONOMOUS-1. The folder is watched, not polled (unless the kernel refuses): a program that does nothing costs
 *     nothing.
 * AUTONOMOUS-2. For each entry of the outbox, each checkpoint and each result a call is requested once; after a crash of
 *     ours that came before it was dealt with, again under the same id.
 * AUTONOMOUS-3. What it is told is in its inbox, even after it has ended: it reads it when it is started again.
 * AUTONOMOUS-4. `_result.md` is taken when it has not changed for a moment, or when the program has ended. A program
 *     that takes longer to write it should write another file and rename it. A result that is too long for a summary is
 *     published whole, as `result.md`, and only its summary is cut.
 * AUTONOMOUS-5. It has no turns: it is never `rested`. It ends by `_result.md`, or by exiting; `exited` says how. If it
 *     exits well and left a checkpoint but no result, the checkpoint is the result (seed 000). If it left neither, the
 *     result is what it printed, beginning and end, and all of it is in `stdout.txt`.
 * AUTONOMOUS-6. It cannot be interrupted, only told so in its inbox, and closed.
 * AUTONOMOUS-7. Where it works in a clone of a repository, git ignores the files by which it is spoken to, and what it
 *     printed is put beside the clone: only what it changed itself is committed.
 */
export class AutonomousSession implements OutsideSession {
  readonly events = new EventQueue((event) => this.#dealtWith(event));
  readonly #parts: Parts;
  readonly #gone = new AbortController();
  /** What has been taken; on disk is what has been dealt with. */
  #seen: KeptProgress;
  #dealt: KeptProgress;
  readonly #after = new Map<OutsideEvent, Partial<KeptProgress>>();
  #isLookDue = false;
  #looking: Promise<void> = Promise.resolve();
  #pauses = new AbortController();
  readonly #printed = new Printed();
  readonly #noted = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#seen = parts.kept;
    this.#dealt = parts.kept;
    parts.watcher.onChange = (name) => {
      if (name === null || PROTOCOL_FILES.includes(name)) this.#changed();
    };
    parts.running.stdin.on("error", () => {});
    parts.running.stdin.end();
    this.events.push({ kind: "begun", session_id: null });
    // What came while it was being started.
    this.#changed();
    this.events.own(this.#run());
  }

  async say(text: string): Promise<void> {
    const time = new Date(this.#parts.clock.now()).toISOString();
    await appendToForeign(this.#parts.setup.cwd, "_inbox.md", `## ${time}\n\n${text.trim()}\n\n---\n`);
  }

  /** It asks nobody for permission. */
  async decide(): Promise<void> {}

  async interrupt(): Promise<void> {
    if (!this.events.ended) await this.say("Agiraph: stop what you are doing. You will be ended.");
  }

  close(): Promise<void> {
    this.events.stopWaiting();
    this.#closing ??= this.#parts.running.stop(2000);
    return this.#closing;
  }

  async #run(): Promise<void> {
    const { running, watcher } = this.#parts;
    const errors = new ErrorTail(running.stderr);
    const heard = Promise.all([this.#hear(), errors.ended.then(() => this.#noteErrors(errors))]);
    const { code, signal, exceeded } = await running.ended;
    watcher.close();
    this.#gone.abort(new Error("The program has ended."));
    await heard;
    // What it wrote while it was being stopped is not looked at.
    if (!this.#closing && code === 0) await this.#takePrinted();
    if (!this.#closing) await this.#look(code === 0 ? "closed" : "paused", true);
    await this.#looking;
    const lastWords = this.#printed.end(MAX_WORDS).trim();
    if (lastWords && !this.#closing) this.events.push({ kind: "said", text: lastWords });
    this.events.end({ kind: "exited", code, signal, exceeded });
  }

  #changed(): void {
    if (this.#closing) return;
    if (!this.#isLookDue) {
      this.#isLookDue = true;
      void this.#look("growing", false);
    }
    this.#pauses.abort();
    this.#pauses = new AbortController();
    const { clock } = this.#parts;
    clock.sleep(PAUSED_MS, AbortSignal.any([this.#pauses.signal, this.#gone.signal])).then(
      () => this.#look("paused", false),
      () => {}, // another change, or the end
    );
  }

  /** One look after the other. */
  #look(how: WritingState, isOver: boolean): Promise<void> {
    this.#looking = this.#looking
      .then(() => this.#lookNow(how, isOver))
      .catch((error: unknown) =>
        this.#note(`Its files could not be read: ${error instanceof Error ? error.message : error}`),
      );
    return this.#looking;
  }

  async #lookNow(how: WritingState, isOver: boolean): Promise<void> {
    await this.events.room();
    if (how === "growing") this.#isLookDue = false;
    await this.#lookAtOutbox(how);
    if (how === "growing") return;
    const { cwd } = this.#parts.setup;
    const checkpoint = await readWritten(cwd, "_checkpoint.md");
    const result = (await readWritten(cwd, "_result.md")) ?? (how === "closed" && isOver ? checkpoint : undefined);
    if (checkpoint && checkpoint !== result) this.#request("checkpoint", checkpoint);
    if (!result) return;
    await this.#showResult(result.text);
    this.#request("publish", result);
  }

  async #lookAtOutbox(how: WritingState): Promise<void> {
    const content = await readPart(this.#parts.setup.cwd, "_outbox.md", 0, MAX_OUTBOX);
    if (!content) return;
    if (content.length === MAX_OUTBOX) this.#noteOnce("_outbox.md is too large: what comes later in it is not read.");
    const { taken, state, isFull } = takeEntries(content, this.#seen.outbox, how);
    if (isFull) this.#noteOnce(`It has sent ${MAX_ENTRIES} messages by _outbox.md. What follows is not sent.`);
    for (const entry of taken) this.#send(entry);
    this.#seen = { ...this.#seen, outbox: state };
  }

  #send({ id, entry, after }: TakenEntry): void {
    const event = eventOf(id, entry);
    this.#after.set(event, { outbox: after });
    this.events.push(event);
  }

  #request(tool: "checkpoint" | "publish", { text, stamp }: WrittenFile): void {
    const kind = tool === "publish" ? "result" : "checkpoint";
    if (this.#seen[kind] === stamp) return;
    this.#seen = { ...this.#seen, [kind]: stamp };
    const summary = bothEnds(text, LONGEST_SUMMARY, tool === "publish" ? "result.md" : "_checkpoint.md");
    const event: OutsideEvent = { kind: "requested_call", tool, args: { summary }, id: `${kind}-${stamp}` };
    this.#after.set(event, { [kind]: stamp });
    this.events.push(event);
  }

  /** On disk like a result that it wrote itself, so that it need not run again after a crash of ours. */
  async #takePrinted(): Promise<void> {
    const { cwd } = this.#parts.setup;
    const left = await Promise.all(["_result.md", "_checkpoint.md"].map((name) => readWritten(cwd, name)));
    // What was there before it began, from a try that failed, is not a result of this one.
    const isSaid = left.some((written) => written && written.stamp !== this.#parts.kept.result);
    const { all } = this.#printed;
    if (isSaid || all.trim() === "") return;
    await putFile(this.#results, "stdout.txt", all);
    await putFile(cwd, "_result.md", `${bothEnds(all.trim(), LONGEST_SUMMARY, "stdout.txt")}\n`);
  }

  /** A result is a file too if there is nothing else to publish, or if it is too long for a summary. */
  async #showResult(text: string): Promise<void> {
    const others = (await readdir(this.#results)).filter((name) => !PROTOCOL_FILES.includes(name));
    const isLong = text.length > LONGEST_SUMMARY && !others.includes("result.md");
    if (others.length === 0 || isLong) await putFile(this.#results, "result.md", `${text}\n`);
  }

  get #results(): string {
    const { cwd, scratch = cwd } = this.#parts.setup;
    return scratch;
  }

  async #dealtWith(event: OutsideEvent): Promise<void> {
    const after = this.#after.get(event);
    if (!after) return;
    this.#after.delete(event);
    this.#dealt = { ...this.#dealt, ...after };
    await this.#parts.record.write(this.#dealt).catch(() => {}); // then it is requested again, under the same id
  }

  async #hear(): Promise<void> {
    for await (const text of printedBy(this.#parts.running.stdout, MAX_LINE)) {
      await this.events.room();
      this.#printed.add(text);
      if (!this.#closing) this.events.push({ kind: "delta", of: "text", text });
    }
  }

  #noteErrors(errors: ErrorTail): void {
    const lines = errors.take();
    if (lines !== undefined) this.#note(lines);
  }

  #noteOnce(text: string): void {
    if (!this.#noted.has(text)) this.#note(text);
    this.#noted.add(text);
  }

  #note(text: string): void {
    if (!this.#closing) this.events.push({ kind: "noted", text });
  }
}

/** A file that has not changed for so long is taken to be whole. */
const PAUSED_MS = 300;
const MAX_OUTBOX = 1024 * 1024;
const MAX_LINE = 64 * 1024;
const MAX_WORDS = 4000;

function eventOf(id: string, entry: TakenEntry["entry"]): OutsideEvent {
  switch (entry.kind) {
    case "message":
      return { kind: "requested_call", tool: "send_message", args: { to: entry.to, content: entry.text }, id };
    case "suggestion":
      return { kind: "requested_call", tool: "suggest_next", args: { suggestion: entry.text }, id };
    case "unclear":
      return {
        kind: "noted",
        text: `An entry in _outbox.md has no line TO: name, or no words: ${entry.text.trim().slice(0, 200)}`,
      };
  }
}
