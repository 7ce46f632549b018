import { PassThrough } from "node:stream";
import type { ProgramEnd, RunningProgram } from "../../../sandbox/program.ts";

/** A program that a test plays: it writes to its output and reads what comes. */
export function fakeProgram(): { running: RunningProgram & { stdin: PassThrough; stdout: PassThrough }; exit(): void } {
  const ended = Promise.withResolvers<ProgramEnd>();
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const exit = () => {
    streams.stdout.end();
    streams.stderr.end();
    ended.resolve({ code: 0, signal: null, exceeded: null });
  };
  return { running: { pid: 1, ...streams, ended: ended.promise, stop: async () => exit() }, exit };
}
