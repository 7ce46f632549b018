import { resolve } from "node:path";
import { type ExitCode, UsageError } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { type SpeakOptions, speak, wordsFrom } from "./speak.ts";

// What a person does with an agent's work on their repository.

export interface AcceptOptions {
  merge?: boolean;
  pr?: boolean;
  title?: string;
  remote?: string;
  into?: string;
}

export async function accept(call: Invocation, agent: string, options: AcceptOptions): Promise<ExitCode> {
  const { merge = false, pr = false, title, remote, into } = options;
  if (merge && pr) throw new UsageError("--merge and --pr are two ways to take the work. Choose one.");
  for (const [flag, value] of [["--title", title] as const, ["--remote", remote] as const])
    if (value !== undefined && !pr) throw new UsageError(`${flag} is for a pull request. Add --pr.`);
  const how = pr ? "pr" : merge ? "merge" : "branch";
  const request = { ...(title !== undefined && { title }), ...(remote !== undefined && { remote }) };
  return speak(call, agent, { do: "accept", how, ...request, ...folder(call, into) }, {});
}

export async function reject(
  call: Invocation,
  agent: string,
  node_id: string,
  why: string,
  options: SpeakOptions,
): Promise<ExitCode> {
  return speak(call, agent, { do: "reject", node_id, reason: await wordsFrom(call, why) }, options);
}

export async function comment(
  call: Invocation,
  { agent, node, at, text }: { agent: string; node: string; at: string; text: string },
  { old = false, ...options }: SpeakOptions & { old?: boolean },
): Promise<ExitCode> {
  const place = placeOf(at);
  const side = old ? ("old" as const) : ("new" as const);
  return speak(
    call,
    agent,
    { do: "comment", node_id: node, ...place, side, text: await wordsFrom(call, text) },
    options,
  );
}

export async function rebase(
  call: Invocation,
  agent: string,
  ref: string | undefined,
  options: SpeakOptions,
): Promise<ExitCode> {
  return speak(call, agent, { do: "rebase", ...(ref !== undefined && { ref }) }, options);
}

export async function restoreWork(
  call: Invocation,
  agent: string,
  ref: string,
  into: string | undefined,
): Promise<ExitCode> {
  return speak(call, agent, { do: "restore_work", ref, ...folder(call, into) }, {});
}

/** `src/main.js:12`. The name of a file may have colons of its own. */
function placeOf(at: string): { path: string; line: number } {
  const [, path = "", digits = ""] = /^(?:\.\/)*(.+):(\d{1,9})$/s.exec(at) ?? [];
  const line = Number(digits);
  if (path === "" || line === 0)
    throw new UsageError(`"${at}" names no line. Write the file and the line, counted from 1: src/main.js:12`);
  return { path, line };
}

function folder({ terminal }: Invocation, into: string | undefined): { into?: string } {
  return into === undefined ? {} : { into: resolve(terminal.cwd, into) };
}
