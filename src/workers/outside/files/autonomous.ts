import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { z } from "zod";
import type { Clock } from "../../../protocol/clock.ts";
import type { Running } from "../../../sandbox/program.ts";
import { appendTo, changedAt, putFile, readPart, removeFile } from "../../../store/disk/foreign-folder.ts";
import { PROTOCOL_FILES } from "../../../store/run/publish.ts";
import { LONGEST_SUMMARY } from "../../../tools/work.ts";
import { EventQueue } from "../event-queue.ts";
import { linesOf, printedBy } from "../output-lines.ts";
import { ProgramRecord } from "../program-record.ts";
import type { Adapter, OutsideEvent, OutsideJob, OutsideSession } from "../session.ts";
import { EMPTY_OUTBOX, MAX_ENTRIES, outboxStateSchema, type Settling, type Taken, takeEntries } from "./outbox.ts";
import { bothEnds, Printed } from "./printed.ts";

/**
 * Any program that reads and writes files where it works (seeds 000 §3, 002 §2.5): `_task.md` and `_context.json` say
 * what is to be done, `_inbox.md` what it is told, `_outbox.md` what it says to others; `_checkpoint.md` says that a
 * part is done and `_result.md` that all is.
 *
 * AUTONOMOUS-1. The folder is watched, never polled: a program that does nothing costs nothing.
 * AUTONOMOUS-2. Each entry of the outbox, each checkpoint and each result is wished for once; after a crash of ours
 *     that came before it was dealt with, again under the same id.
 * AUTONOMOUS-3. What it is told is in its inbox, also when it has ended: it reads it when it is started again.
 * AUTONOMOUS-4. `_result.md` is taken when it has not changed for a moment, or when the program has ended. Who writes
 *     it for longer than that writes it aside and renames it. One that is too long for a summary is published whole, as
 *     `result.md`, and only its summary is cut.
 * AUTONOMOUS-5. It has no turns: it is never `rested`. It ends by `_result.md`, or by exiting; how is told by `exited`.
 *     One that exits well and left a checkpoint but no result has that checkpoint for its result (seed 000); one that
 *     left neither has what it printed: the result is its beginning and end, and all of it is in `stdout.txt`.
 * AUTONOMOUS-6. It cannot be interrupted, only told so in its inbox, and closed.
 */
export function autonomousAdapter(clock: Clock): Adapter {
  return async (job) => {
    await mkdir(job.home, { recursive: true, mode: 0o700 });
    const record = new ProgramRecord(job.home, job.cwd, recordSchema);
    const found = await record.read();
    const kept = found?.assigned === job.assigned ? found : undefined;
    const nothing: Kept = { assigned: job.assigned, ...NOTHING_TAKEN };
    await layOut(job, kept === undefined);
    if (!kept) await record.write(nothing);
    // Before it is started: what it writes first must not be missed.
    const watcher = watch(job.cwd);
    try {
      const hasEnded = kept !== undefined && (await isDone(job, kept));
      const running = hasEnded
        ? endedWell()
        : await job.start(() => ({ argv: argvOf(job), env: job.profile.set ?? {} }));
      return new AutonomousSession({ job, clock, record, watcher, running, kept: kept ?? nothing });
    } catch (error) {
      watcher.close();
      throw error;
    }
  };
}

const recordSchema = z.object({
  assigned: z.int().nonnegative(),
  outbox: outboxStateSchema,
  /** Stamps of what was taken. */
  checkpoint: z.string().nullable(),
  result: z.string().nullable(),
});
type Kept = z.infer<typeof recordSchema>;
const NOTHING_TAKEN = { outbox: EMPTY_OUTBOX, checkpoint: null, result: null } satisfies Omit<Kept, "assigned">;

/** What another worker left here says nothing of this one, also where it had the work before; what it wrote before a restart does. */
async function layOut({ cwd, system, words, context }: OutsideJob, isNew: boolean): Promise<void> {
  await putFile(cwd, "_task.md", `${words.trim()}\n\n${HOW}\n\n${system.trim()}\n`);
  await putFile(cwd, "_context.json", `${JSON.stringify(context ?? {}, null, 2)}\n`);
  if (!isNew) return;
  for (const name of ["_inbox.md", "_outbox.md"]) await putFile(cwd, name, "");
  for (const name of ["_result.md", "_checkpoint.md"]) removeFile(cwd, name);
}

const HOW = `## How to speak

You work in the current folder, by files:
- \`_inbox.md\` grows with what you are told: by your team, and by people. Agiraph writes it, and says who speaks.
- To tell somebody something, append to \`_outbox.md\`: a line \`TO: name\`, your words, a line \`---\`. The coordinator is \`coordinator\`; everybody is \`*\`.
- To suggest further work, append a line \`SUGGEST: what and why\` and a line \`---\`.
- When a part is done, write a summary of it to \`_checkpoint.md\`.
- When all is done, write a summary to \`_result.md\`. That ends your work: what else is in this folder is then published.`;

/** The task may also be an argument: \`{task}\`, whole and never through a shell. */
function argvOf({ profile, words }: OutsideJob): [string, ...string[]] {
  const [program = "", ...args] = profile.command;
  return [program, ...args.map((arg) => (arg === "{task}" ? words : arg))];
}

/** It wrote its result just before we were ended, and nobody has seen it: it need not run again. */
async function isDone({ cwd }: OutsideJob, kept: Kept): Promise<boolean> {
  const result = await readWritten(cwd, "_result.md");
  return result?.isLineEnded === true && result.stamp !== kept.result;
}

function endedWell(): Running {
  const over = () => {
    const stream = new PassThrough();
    stream.end();
    return stream;
  };
  return {
    pid: 0,
    ...{ stdin: over(), stdout: over(), stderr: over() },
    ended: Promise.resolve({ code: 0, signal: null, exceeded: null }),
    stop: async () => {},
  };
}

interface Written {
  text: string;
  /** The same as long as nobody writes it again. */
  stamp: string;
  isLineEnded: boolean;
}

async function readWritten(cwd: string, name: string): Promise<Written | undefined> {
  const bytes = await readPart(cwd, name, 0, MAX_RESULT);
  const whole = bytes?.toString("utf8").replace(/\uFFFD+$/, "") ?? "";
  if (whole.trim() === "") return undefined;
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 16);
  return { text: whole.trim(), stamp: `${hash}-${changedAt(cwd, name) ?? 0}`, isLineEnded: whole.endsWith("\n") };
}

interface Parts {
  job: OutsideJob;
  clock: Clock;
  record: ProgramRecord<Kept>;
  watcher: FSWatcher;
  running: Running;
  kept: Kept;
}

class AutonomousSession implements OutsideSession {
  readonly events = new EventQueue((event) => this.#dealtWith(event));
  readonly #parts: Parts;
  readonly #gone = new AbortController();
  /** What has been taken; on disk is what has been dealt with. */
  #seen: Kept;
  #dealt: Kept;
  readonly #after = new Map<OutsideEvent, Partial<Kept>>();
  #isLookDue = false;
  #looking: Promise<void> = Promise.resolve();
  #settles = new AbortController();
  readonly #printed = new Printed();
  readonly #noted = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#seen = parts.kept;
    this.#dealt = parts.kept;
    parts.watcher.on("change", (_, name) => {
      if (name === null || PROTOCOL_FILES.includes(String(name))) this.#changed();
    });
    parts.watcher.on("error", (error) => this.#note(`Its folder cannot be watched any more: ${error.message}`));
    parts.running.stdin.on("error", () => {});
    parts.running.stdin.end();
    this.events.push({ kind: "begun", session_id: null });
    // What came while it was being started.
    this.#changed();
    this.events.own(this.#live());
  }

  async say(text: string): Promise<void> {
    const time = new Date(this.#parts.clock.now()).toISOString();
    await appendTo(this.#parts.job.cwd, "_inbox.md", `## ${time}\n\n${text.trim()}\n\n---\n`);
  }

  /** It asks for leave of nobody. */
  async decide(): Promise<void> {}

  async interrupt(): Promise<void> {
    if (!this.events.ended) await this.say("Agiraph: stop what you are doing. You will be ended.");
  }

  close(): Promise<void> {
    this.events.stopWaiting();
    this.#closing ??= this.#parts.running.stop(2000);
    return this.#closing;
  }

  async #live(): Promise<void> {
    const { running, watcher } = this.#parts;
    const heard = Promise.all([this.#hear(), this.#hearErrors()]);
    const { code, signal, exceeded } = await running.ended;
    watcher.close();
    this.#gone.abort(new Error("The program has ended."));
    await heard;
    // What it wrote while it was being ended is nobody's business any more.
    if (!this.#closing && code === 0) await this.#takePrinted();
    if (!this.#closing) await this.#look(code === 0 ? "closed" : "settled", true);
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
    this.#settles.abort();
    this.#settles = new AbortController();
    const { clock } = this.#parts;
    clock.sleep(SETTLED_MS, AbortSignal.any([this.#settles.signal, this.#gone.signal])).then(
      () => this.#look("settled", false),
      () => {}, // another change, or the end
    );
  }

  /** One look after the other. */
  #look(how: Settling, isOver: boolean): Promise<void> {
    this.#looking = this.#looking
      .then(() => this.#lookNow(how, isOver))
      .catch((error: unknown) =>
        this.#note(`Its files could not be read: ${error instanceof Error ? error.message : error}`),
      );
    return this.#looking;
  }

  async #lookNow(how: Settling, isOver: boolean): Promise<void> {
    await this.events.room();
    if (how === "growing") this.#isLookDue = false;
    await this.#lookAtOutbox(how);
    if (how === "growing") return;
    const { cwd } = this.#parts.job;
    const checkpoint = await readWritten(cwd, "_checkpoint.md");
    const result = (await readWritten(cwd, "_result.md")) ?? (how === "closed" && isOver ? checkpoint : undefined);
    if (checkpoint && checkpoint !== result) this.#wish("checkpoint", checkpoint);
    if (!result) return;
    await this.#showResult(result.text);
    this.#wish("publish", result);
  }

  async #lookAtOutbox(how: Settling): Promise<void> {
    const content = await readPart(this.#parts.job.cwd, "_outbox.md", 0, MAX_OUTBOX);
    if (!content) return;
    if (content.length === MAX_OUTBOX) this.#noteOnce("_outbox.md is too large: what comes later in it is not read.");
    const { taken, state, isFull } = takeEntries(content, this.#seen.outbox, how);
    if (isFull) this.#noteOnce(`It has sent ${MAX_ENTRIES} messages by _outbox.md. What follows is not sent.`);
    for (const letter of taken) this.#send(letter);
    this.#seen = { ...this.#seen, outbox: state };
  }

  #send({ id, entry, after }: Taken): void {
    const event = eventOf(id, entry);
    this.#after.set(event, { outbox: after });
    this.events.push(event);
  }

  #wish(tool: "checkpoint" | "publish", { text, stamp }: Written): void {
    const kind = tool === "publish" ? "result" : "checkpoint";
    if (this.#seen[kind] === stamp) return;
    this.#seen = { ...this.#seen, [kind]: stamp };
    const summary = bothEnds(text, LONGEST_SUMMARY, tool === "publish" ? "result.md" : "_checkpoint.md");
    const event: OutsideEvent = { kind: "requested_call", tool, args: { summary }, id: `${kind}-${stamp}` };
    this.#after.set(event, { [kind]: stamp });
    this.events.push(event);
  }

  /** On disk like a result of its own making, so that after a crash of ours it is not run again for it. */
  async #takePrinted(): Promise<void> {
    const { cwd } = this.#parts.job;
    const left = await Promise.all(["_result.md", "_checkpoint.md"].map((name) => readWritten(cwd, name)));
    // What was taken before, in a try that came to nothing, is no result of this one.
    const isSaid = left.some((written) => written && written.stamp !== this.#seen.result);
    const { all } = this.#printed;
    if (isSaid || all.trim() === "") return;
    await putFile(cwd, "stdout.txt", all);
    await putFile(cwd, "_result.md", `${bothEnds(all.trim(), LONGEST_SUMMARY, "stdout.txt")}\n`);
  }

  /** Somebody whose answer is all of the work has something to publish all the same; and of a long one nothing is lost. */
  async #showResult(text: string): Promise<void> {
    const { cwd } = this.#parts.job;
    const others = (await readdir(cwd)).filter((name) => !PROTOCOL_FILES.includes(name));
    const isLong = text.length > LONGEST_SUMMARY && !others.includes("result.md");
    if (others.length === 0 || isLong) await putFile(cwd, "result.md", `${text}\n`);
  }

  async #dealtWith(event: OutsideEvent): Promise<void> {
    const after = this.#after.get(event);
    if (!after) return;
    this.#after.delete(event);
    this.#dealt = { ...this.#dealt, ...after };
    await this.#parts.record.write(this.#dealt).catch(() => {}); // then it is wished for again, under the same id
  }

  async #hear(): Promise<void> {
    for await (const text of printedBy(this.#parts.running.stdout, MAX_LINE)) {
      await this.events.room();
      this.#printed.add(text);
      if (!this.#closing) this.events.push({ kind: "delta", of: "text", text });
    }
  }

  async #hearErrors(): Promise<void> {
    let lines: string[] = [];
    for await (const line of linesOf(this.#parts.running.stderr, MAX_LINE)) {
      if (line?.trim()) lines = [...lines.slice(1 - STDERR_LINES), line.slice(0, 500)];
    }
    if (lines.length > 0) this.#note(lines.join("\n"));
  }

  #noteOnce(text: string): void {
    if (!this.#noted.has(text)) this.#note(text);
    this.#noted.add(text);
  }

  #note(text: string): void {
    if (!this.#closing) this.events.push({ kind: "noted", text });
  }
}

/** So long without a change, a file is taken to be whole. */
const SETTLED_MS = 300;
const MAX_OUTBOX = 1024 * 1024;
const MAX_RESULT = 8 * 1024 * 1024;
const MAX_LINE = 64 * 1024;
const MAX_WORDS = 4000;
const STDERR_LINES = 20;

function eventOf(id: string, entry: Taken["entry"]): OutsideEvent {
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
