import { resolve } from "node:path";
import { checkEngine, Database, type EngineCheck, engineAddress, exportHome, importHome } from "../../engine/index.ts";
import { LOGIN_FORMATS } from "../../runtime/logins/login-formats.ts";
import { nodeDisk } from "../../store/disk/node-disk.ts";
import { engineMarkOf } from "../../store/home/engine-mark.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { engineOf } from "../home/engine-choice.ts";
import { settingsOf } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { bytes, count } from "../wording/format.ts";
import { unknownAction } from "../wording/usage-words.ts";

export interface EngineOptions {
  engine?: string;
  schema?: string;
}

/** `engine check`, `engine import`, `engine export DIR`. */
export async function engine(
  call: Invocation,
  action: string,
  folder: string | undefined,
  options: EngineOptions,
): Promise<ExitCode> {
  const actions: Record<string, () => Promise<ExitCode>> = {
    check: () => check(call, options),
    import: () => bringIn(call, folder, options),
    export: () => takeOut(call, folder, options),
  };
  const perform = Object.hasOwn(actions, action) ? actions[action] : undefined;
  if (perform) return perform();
  throw new UsageError(unknownAction("engine", action, Object.keys(actions)));
}

async function check(call: Invocation, options: EngineOptions): Promise<ExitCode> {
  const { terminal, json } = call;
  await using database = await databaseOf(call, options);
  const checks = await checkEngine(database, { now: Date.now, elapsed: () => performance.now() });
  const isUsable = checks.every(({ state }) => state !== "problem");
  if (json) await terminal.printJson({ ok: isUsable, engine: database.address.shown, checks });
  else await terminal.printLines(checks.map((each) => lineOf(each, call)));
  return isUsable ? EXIT.done : EXIT.failed;
}

function lineOf({ what, state, text }: EngineCheck, { terminal: { paint } }: Invocation): string {
  const mark = { ok: paint.green("✓"), warning: paint.yellow("!"), problem: paint.red("✗") }[state];
  return `${mark} ${what.padEnd(12)} ${text}`;
}

async function bringIn(call: Invocation, folder: string | undefined, options: EngineOptions): Promise<ExitCode> {
  const { terminal, json } = call;
  const home = folder === undefined ? (await settingsOf(call)).home : resolve(terminal.cwd, folder);
  const copied = engineMarkOf(nodeDisk, home);
  if (copied)
    throw new Refusal(
      `The home ${home} is a working copy of the engine ${copied.engine}, which has its agents already. Nothing was imported.`,
    );
  await using database = await databaseOf(call, options);
  let trees = 0;
  await importHome(database, home, {
    clock: { now: Date.now },
    loginFiles: LOGIN_FORMATS.map(({ share }) => share),
    onTree: ({ tree, streams, files, sentBytes, left }, at, of) => {
      trees = of;
      const what = `${count(streams, "record")}, ${count(files, "file")}, ${bytes(sentBytes)} sent`;
      terminal.say(`${at} of ${of}: ${tree} (${what})`);
      for (const { path, why } of left) if (why !== "it is made anew") terminal.say(`  left here: ${path}: ${why}`);
    },
  });
  if (json) await terminal.printJson({ home, engine: database.address.shown, trees });
  terminal.say(
    trees === 0
      ? `There is nothing in ${home} to import.`
      : `Imported and compared: ${home} is in ${database.address.shown}. The home is as it was.`,
  );
  return EXIT.done;
}

async function takeOut(call: Invocation, folder: string | undefined, options: EngineOptions): Promise<ExitCode> {
  const { terminal, json } = call;
  if (folder === undefined)
    throw new UsageError(
      `Name a new folder to export to, for example: ${commandLine(call, "engine", "export", "./exported")}`,
    );
  const home = resolve(terminal.cwd, folder);
  await using database = await databaseOf(call, options);
  const missing: string[] = [];
  let trees = 0;
  await exportHome(database, home, {
    clock: { now: Date.now },
    onTree: ({ tree, streams, files, writtenBytes, lost }, at, of) => {
      trees++;
      const what = `${count(streams, "record")}, ${count(files, "file")}, ${bytes(writtenBytes)} written`;
      terminal.say(`${at} of ${of}: ${tree} (${what})`);
      for (const { path, what } of lost) terminal.say(`  ${terminal.errPaint.yellow("!")} ${path}: ${what}`);
    },
    onIncomplete: (tree) => missing.push(tree),
  });
  if (json) await terminal.printJson({ home, engine: database.address.shown, trees, incomplete: missing });
  for (const tree of missing)
    terminal.say(
      `${terminal.errPaint.yellow("!")} ${tree} is not whole in the engine: import it again, then export again.`,
    );
  terminal.say(`Exported and compared: ${home}. To look at it: ${commandLine({ ...call, home }, "ls")}`);
  return missing.length > 0 ? EXIT.failed : EXIT.done;
}

async function databaseOf(call: Invocation, options: EngineOptions): Promise<Database> {
  const url = engineOf(await settingsOf(call, { isOnlyLooking: true, isTold: false }), options);
  if (url === undefined || url === "")
    throw new UsageError(
      `Say where the engine is: ${commandLine(call, "engine", "check", "--engine", "postgres://USER@HOST/DATABASE")}. Or set AGIRAPH_ENGINE, or "engine" in config.json.`,
    );
  return new Database(engineAddress(url, options.schema));
}
