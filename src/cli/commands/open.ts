import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, extname, join } from "node:path";
import type { Standing } from "../../projections/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { fileLine, resultFiles } from "../wording/result.ts";
import { standingOf } from "../wording/standing.ts";

/** Opens the result of an agent's last run and prints its path. Without a desktop it only prints the path. */
export async function open(call: Invocation, word: string): Promise<ExitCode> {
  const { terminal, json } = call;
  const { now, log, holder } = await lookAtAgent(call, word);
  const { results } = await resultFiles(now, log.dir);
  const { id, created } = now.agent;
  if (results.length === 0)
    throw new Refusal(`${created.name} has no result yet: ${whyNone(call, id, standingOf(now, holder))}`);
  const first = results.find(({ changed, path }) => !changed && isDocument(path));
  const opener = terminal.stdout.isTTY && first ? await openerIn(terminal.env, process.platform) : undefined;
  const opened = opener && first && (await opens(opener, first.path)) ? first.path : null;
  if (json) await terminal.printJson({ id, name: created.name, results, opened });
  else await terminal.printLines(results.map(fileLine));
  return EXIT.done;
}

/** And what brings one about. */
function whyNone(call: Invocation, id: AgentId, standing: Standing): string {
  const goOn = `Continue with: ${commandLine(call, "resume", id)}`;
  switch (standing) {
    case "waiting_for_human":
      return `it waits for you. See: ${commandLine(call, "inbox")}`;
    case "interrupted":
      return `it was interrupted. ${goOn}`;
    case "stopped":
    case "paused":
      return `it is ${standing}. ${goOn}`;
    default:
      return `it ${standing === "failed" ? standing : `is ${standing}`}. See: ${commandLine(call, "show", id)}`;
  }
}

/** A model wrote it: opened is only what is shown and never run by what shows it. */
const DOCUMENTS = new Set(
  [".md", ".txt", ".log", ".csv", ".tsv", ".json", ".diff", ".patch"].concat([".pdf", ".png", ".jpg", ".jpeg", ".gif"]),
);

export function isDocument(path: string): boolean {
  return DOCUMENTS.has(extname(path).toLowerCase());
}

/** The program that opens a file as the person's desktop does; undefined without a desktop. */
export async function openerIn(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Promise<string | undefined> {
  const hasDesktop = platform === "darwin" ? !env.SSH_CONNECTION : Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  if (!hasDesktop) return undefined;
  const name = platform === "darwin" ? "open" : "xdg-open";
  for (const folder of (env.PATH ?? "").split(delimiter).filter(Boolean)) {
    const program = join(folder, name);
    if (
      await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return program;
  }
  return undefined;
}

function opens(program: string, path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(program, [path], { stdio: "ignore", detached: true });
  child.once("error", () => resolve(false)).once("spawn", () => resolve(true));
  child.unref();
  return promise;
}
