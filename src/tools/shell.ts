import { z } from "zod";
import type { BackgroundCommand } from "../projections/index.ts";
import type { Binds, Network, Sandbox, ShellResult } from "../sandbox/index.ts";
import { backgroundOutputTool, RunningCommands } from "./background.ts";
import { exceededNotes, fullNote, signalNote } from "./exit-words.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

/** `bash` and `bash_output`: commands in the sandbox, in the folders of one participant. */
export function shellTools(ports: ShellPorts): Tool[] {
  const commands = new RunningCommands(ports.recorded);
  return [shellTool(ports, commands), backgroundOutputTool(commands)];
}

export function shellTool(ports: ShellPorts, commands = new RunningCommands()): Tool {
  const omissions = new Omissions();
  return defineTool({
    name: "bash",
    description: `Run a command in a sandbox: a new bash ${ports.where ?? "in your working folder"}. /tmp does not last; what it started ends with it. Nobody can type. ${ports.network ? `Network: ${ports.network.allow.join(", ")} alone.` : "No network."}`,
    repeatable: false,
    parameters: toRun,
    run: ({ command, timeout = defaultSeconds, background }, signal) =>
      background
        ? startInBackground(ports, omissions, command, commands, signal)
        : runCommand(ports, omissions, command, timeout, signal),
  });
}

export interface ShellPorts {
  /** Where a command begins and what paths mean there, as the model is told. */
  where?: string;
  /** Opened by the first command; proving one takes a moment. */
  sandbox: () => Promise<Sandbox>;
  /** Asked at every call: what may be read grows while others publish. */
  binds: () => ShellBinds | Promise<ShellBinds>;
  /** PROJECT, RUN, SCRATCH and what else a command may know. */
  env: Readonly<Record<string, string>>;
  network?: Network;
  /** What the log says of a background command. */
  recorded?: (id: string) => BackgroundCommand | undefined;
  /** For the facts `process.started` and `process.exited`. */
  onProcess?: (event: ProcessEvent) => void;
}

export interface ShellBinds extends Binds {
  cwd: string;
  /** What of the project commands do not see although it is not hidden, and why, in sentences. */
  omitted?: readonly string[];
}

export type ProcessEvent =
  | {
      type: "started";
      pid: number;
      command: string;
      sandbox: string;
      omitted?: readonly string[];
      /** Its id, when it runs beside the turns of the one who started it. */
      background?: string;
    }
  /** `background`: its id, where the one who started it is still to be told. */
  | {
      type: "exited";
      pid: number;
      code: number | null;
      signal: string | null;
      background?: string;
      /** The end of what a background command printed and nobody has read. */
      output?: string;
    };

const defaultSeconds = 120;
const maxSeconds = 600;

const toRun = z.object({
  command: z.string().min(1),
  timeout: z
    .number()
    .positive()
    .max(maxSeconds)
    .optional()
    .describe(`Seconds, usually ${defaultSeconds}, at most ${maxSeconds}.`),
  background: z.boolean().default(false).describe("For servers and long work; see bash_output."),
});

/** Told with the first command, when it has changed, and with every command that failed: it may have failed for that. */
class Omissions {
  #told = "";

  /** Whether these have not been told yet. */
  areNew(omitted: readonly string[]): boolean {
    const before = this.#told;
    this.#told = omitted.join("\n");
    return before !== this.#told;
  }
}

function omittedNote(omitted: readonly string[]): string {
  if (omitted.length === 0) return "";
  return `[Commands do not see all of the project. ${omitted.join(" ")} read_file and list_files show it.]`;
}

async function runCommand(
  ports: ShellPorts,
  omissions: Omissions,
  command: string,
  seconds: number,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { env, network, onProcess } = ports;
  const sandbox = await ports.sandbox();
  if (sandbox.kind === "none") return refusedBy(sandbox);
  const { cwd, omitted = [], ...binds } = await ports.binds();
  const areNew = omissions.areNew(omitted) && omitted.length > 0;
  let pid: number | null = null;
  const onStart = (process: number) => {
    pid = process;
    const started = { type: "started", pid, command: firstLine(command), sandbox: sandbox.kind } as const;
    onProcess?.(areNew ? { ...started, omitted } : started);
  };
  let result: ShellResult | null = null;
  try {
    result = await sandbox.run({
      command,
      cwd,
      binds,
      env,
      timeoutMs: seconds * 1000,
      signal,
      onStart,
      ...(network ? { network } : {}),
    });
  } finally {
    if (pid !== null)
      onProcess?.({ type: "exited", pid, code: result?.code ?? null, signal: result ? result.signal : "SIGKILL" });
  }
  const note = areNew || result.code !== 0 ? omittedNote(omitted) : "";
  const content = described(result, seconds, sandbox);
  return { ok: result.code === 0, content: note ? `${content}\n\n${note}` : content };
}

/** It is under the same confinement; only time is not bounded, and its output by what is kept of it. */
async function startInBackground(
  ports: ShellPorts,
  omissions: Omissions,
  command: string,
  commands: RunningCommands,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { env, network, onProcess } = ports;
  const sandbox = await ports.sandbox();
  if (sandbox.kind === "none") return refusedBy(sandbox);
  const { cwd, omitted = [], ...binds } = await ports.binds();
  const areNew = omissions.areNew(omitted) && omitted.length > 0;
  const launch = () => ({ argv: ["bash", "-c", command] as const, env });
  const started = { type: "started", command: firstLine(command), sandbox: sandbox.kind } as const;
  const output = await commands.start({
    start: () => sandbox.start({ launch, cwd, binds, signal, ...(network ? { network } : {}) }),
    onStart: (background, pid) => onProcess?.({ ...started, pid, background, ...(areNew && { omitted }) }),
    onEnd: (background, ended, isTold) => onProcess?.({ type: "exited", ...ended, ...(!isTold && { background }) }),
  });
  return areNew && typeof output === "string" ? `${output}\n\n${omittedNote(omitted)}` : output;
}

function refusedBy({ about }: Sandbox): ToolOutput {
  return { ok: false, content: `bash is refused: ${about}` };
}

function described(result: ShellResult, seconds: number, { kind }: Sandbox): string {
  const notes = [
    result.code === 0 || result.code === null ? "" : `Exit code ${result.code}${signalNote(result.code)}.`,
    result.timedOut
      ? `Time-out: it was ended after ${seconds} s, with all it had started. Give a longer timeout, or do less at once.`
      : "",
    result.exceeded ? (result.code === null ? exceededNotes[result.exceeded] : fullNote) : "",
    kind === "unsafe" ? "Ran without a sandbox (--unsafe-no-sandbox)." : "",
  ];
  const said = result.output.trimEnd();
  const hint = result.code !== 0 && said.includes("Permission denied") ? COPIES : "";
  return [...notes, said || "(no output)", hint].filter(Boolean).join("\n");
}

/** `cp` keeps the mode; the files themselves are final. */
const COPIES = "(A copy of a published file or an input is read-only, as they are: chmod u+w makes the copy writable.)";

/** A fact names short strings; the whole command stands in the conversation. */
function firstLine(command: string): string {
  const line = command.trim().split("\n", 1)[0] ?? "";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
