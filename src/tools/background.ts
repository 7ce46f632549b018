import { z } from "zod";
import { ENDED_WITH_US } from "../mail/news.ts";
import type { BackgroundCommand } from "../projections/index.ts";
import type { RunningProgram } from "../sandbox/index.ts";
import { Output } from "../sandbox/process/output.ts";
import { exceededNotes, exitWords } from "./exit-words.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";

const MOST_AT_ONCE = 4;
/** Ended commands are kept so that their output can be read. */
const MOST_KEPT = 16;
const MAX_OUTPUT_BYTES = 32_000;
const GRACE_MS = 2_000;
const MOST_SECONDS = 300;

/** The request to start a command, and who is told of its start and end. */
export interface BackgroundOrder {
  start(): Promise<RunningProgram>;
  onStart(id: string, pid: number): void;
  /** `isTold`: somebody waits for the end and is told of it at once. */
  onEnd(id: string, ended: CommandEnd, isTold: boolean): void;
}

interface CommandEnd {
  pid: number;
  code: number | null;
  signal: string | null;
  /** The end of what it printed and nobody has read. */
  output?: string;
}

interface RunningCommand {
  running: RunningProgram;
  /** What was said since the last look. */
  unread: Output;
  begun: number;
  /** How it ended, in words. */
  ended: string | undefined;
  over: Promise<void>;
  waiting: number;
}

/**
 * The background commands of one participant.
 *
 * BACKGROUND-1. The number of running commands is limited, and so is the output that is kept between two reads.
 * BACKGROUND-2. All of them end with `close`, which resolves when they have ended; with the signal under which they
 *     were started; and with us, as every command does (sandbox SANDBOX-4).
 */
export class RunningCommands {
  readonly #commands = new Map<string, RunningCommand>();
  readonly #recorded: (id: string) => BackgroundCommand | undefined;

  /** `recorded`: what the log says of a command that an earlier process may have started. */
  constructor(recorded: (id: string) => BackgroundCommand | undefined = () => undefined) {
    this.#recorded = recorded;
  }

  async start({ start, onStart, onEnd }: BackgroundOrder): Promise<ToolOutput> {
    const busy = [...this.#commands].filter(([, command]) => command.ended === undefined).map(([id]) => id);
    if (busy.length >= MOST_AT_ONCE)
      return refusal(`Not started: ${busy.join(", ")} run already. End one with bash_output and stop: true.`);
    const running = await start();
    const id = `bg-${running.pid}`;
    const command: RunningCommand = {
      running,
      unread: new Output(MAX_OUTPUT_BYTES),
      begun: performance.now(),
      ended: undefined,
      over: Promise.resolve(),
      waiting: 0,
    };
    for (const stream of [running.stdout, running.stderr])
      stream.on("data", (chunk: Buffer) => command.unread.push(chunk));
    running.stdin.on("error", () => {}).end();
    onStart(id, running.pid);
    command.over = running.ended.then(({ code, signal, exceeded }) => {
      command.ended = exitWords(code, exceeded);
      const output = endOf(
        [exceeded && exceededNotes[exceeded], command.unread.text().trimEnd()].filter(Boolean).join("\n"),
      );
      onEnd(id, { pid: running.pid, code, signal, ...(output && { output }) }, command.waiting > 0);
    });
    this.#commands.set(id, command);
    this.#forgetOldest();
    return `${id} runs in the background. You are told when it ends; look at it, or wait for it, with bash_output.`;
  }

  async look(id: string, { wait, stop }: { wait: number; stop: boolean }, signal: AbortSignal): Promise<ToolOutput> {
    const command = this.#commands.get(id);
    if (!command) return this.#earlier(id);
    command.waiting += 1;
    try {
      if (stop) await command.running.stop(GRACE_MS).then(() => command.over);
      else if (wait > 0 && command.ended === undefined) await orAfter(wait, command.over, signal);
    } finally {
      command.waiting -= 1;
    }
    const said = command.unread.text().trimEnd();
    command.unread = new Output(MAX_OUTPUT_BYTES);
    const seconds = Math.round((performance.now() - command.begun) / 1000);
    return `${command.ended ?? `Still running after ${seconds} s.`}\n${said || "(no new output)"}`;
  }

  #earlier(id: string): ToolOutput {
    const ended = this.#recorded(id)?.ended;
    if (ended?.interrupted) return refusal(`${id} ${ENDED_WITH_US}`);
    if (ended) return `${exitWords(ended.code, null)}\n${ended.output || "(no new output)"}`;
    return refusal(
      `There is no background command "${id}". You have: ${[...this.#commands.keys()].join(", ") || "none"}.`,
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#commands.values()].map(({ running, over }) => running.stop(GRACE_MS).then(() => over)));
  }

  #forgetOldest(): void {
    const ended = [...this.#commands].filter(([, command]) => command.ended !== undefined);
    for (const [id] of ended.slice(0, Math.max(0, this.#commands.size - MOST_KEPT))) this.#commands.delete(id);
  }
}

/** Why work cannot end yet: what runs would be ended in the middle, and only a part of its result be there. */
export function stillRunning(commands: readonly Pick<BackgroundCommand, "id" | "command">[]): string | null {
  if (commands.length === 0) return null;
  const list = commands.map(({ id, command }) => `${id} (${command})`).join(", ");
  const [run, it] = commands.length === 1 ? ["runs", "it"] : ["run", "them"];
  return `${list} still ${run} in the background. Wait for ${it} with bash_output (wait), or end what you do not need (stop: true).`;
}

/** A fact holds short strings. */
const LONGEST_END = 1_500;

function endOf(output: string): string {
  return output.length > LONGEST_END ? `…${output.slice(1 - LONGEST_END)}` : output;
}

async function orAfter(seconds: number, over: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, seconds * 1000);
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([over, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

const toLook = z.object({
  id: z.string(),
  wait: z.number().min(0).max(MOST_SECONDS).default(0).describe("Seconds to wait for its end."),
  stop: z.boolean().default(false),
});

export function backgroundOutputTool(commands: RunningCommands): Tool {
  return defineTool({
    name: "bash_output",
    description: "New output of a background command, and whether it still runs.",
    repeatable: true,
    readOnly: ({ stop }) => !stop,
    parameters: toLook,
    run: ({ id, ...how }, signal) => commands.look(id, how, signal),
    close: () => commands.close(),
  });
}
