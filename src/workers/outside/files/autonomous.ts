import { mkdir } from "node:fs/promises";
import { PassThrough } from "node:stream";
import type { Clock } from "../../../protocol/clock.ts";
import type { RunningProgram } from "../../../sandbox/program.ts";
import { watchFolder } from "../../../store/disk/watch-folder.ts";
import { ProgramRecord } from "../session/program-record.ts";
import type { Adapter, SessionSetup } from "../session/session.ts";
import { AutonomousSession, type KeptProgress, keptProgressSchema, nothingTaken } from "./autonomous-session.ts";
import { hideTaskFiles, readWritten, writeTaskFiles } from "./task-files.ts";

/**
 * Starts any program that reads and writes files where it works (seeds 000 §3, 002 §2.5): `_task.md` and
 * `_context.json` say what is to be done, `_inbox.md` what it is told, `_outbox.md` what it says to others;
 * `_checkpoint.md` says that a part is done and `_result.md` that all is.
 */
export function autonomousAdapter(clock: Clock): Adapter {
  return async (setup) => {
    await mkdir(setup.home, { recursive: true, mode: 0o700 });
    const record = new ProgramRecord(setup.home, setup.cwd, keptProgressSchema);
    const found = await record.read();
    const kept = found?.assigned === setup.assigned ? found : undefined;
    const nothing = nothingTaken(setup.assigned);
    if (setup.scratch !== undefined) await hideTaskFiles(setup.cwd);
    await writeTaskFiles(setup, kept === undefined);
    if (!kept) await record.write(nothing);
    // Before it is started: what it writes first must not be missed.
    const watcher = watchFolder(setup.cwd);
    try {
      const hasEnded = kept !== undefined && (await isDone(setup, kept));
      const running = hasEnded
        ? endedWell()
        : await setup.start(() => ({ argv: argvOf(setup), env: setup.profile.set ?? {} }));
      return new AutonomousSession({ setup, clock, record, watcher, running, kept: kept ?? nothing });
    } catch (error) {
      watcher.close();
      throw error;
    }
  };
}

/** The task may also be an argument: `{task}`, whole and never through a shell. */
function argvOf({ profile, words }: SessionSetup): [string, ...string[]] {
  const [program = "", ...args] = profile.command;
  return [program, ...args.map((arg) => (arg === "{task}" ? words : arg))];
}

/** It wrote its result just before we were ended, and the result was not taken: it need not run again. */
async function isDone({ cwd }: SessionSetup, kept: KeptProgress): Promise<boolean> {
  const result = await readWritten(cwd, "_result.md");
  return result?.isLineEnded === true && result.stamp !== kept.result;
}

/** In place of a program that need not run again. */
function endedWell(): RunningProgram {
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
