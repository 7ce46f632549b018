import type { Settings } from "../../runtime/config/settings.ts";
import { checkAgents } from "../doctor/agent-checks.ts";
import {
  checkChannels,
  checkConfig,
  checkDisk,
  checkEnvFiles,
  checkExtensions,
  checkGit,
  checkHome,
  checkKeys,
  checkMcpServers,
  checkModes,
  checkOllama,
  checkSandbox,
  checkTmux,
  checkToken,
  type DoctorCheck,
} from "../doctor/checks.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import type { Terminal } from "../terminal.ts";
import { wrapBeside } from "../wording/width.ts";

const SERVER_CAP_MS = 300;
const PROGRAM_CAP_MS = 5000;

export async function doctor(call: Invocation): Promise<ExitCode> {
  const { terminal, json } = call;
  const checks = await examine(call);
  const isSound = checks.every((check) => check.state !== "broken");
  if (json) await terminal.printJson({ ok: isSound, checks });
  else await terminal.printLines(checks.flatMap((check) => linesFor(check, terminal)));
  return isSound ? EXIT.done : EXIT.failed;
}

async function examine(call: Invocation): Promise<DoctorCheck[]> {
  const node: DoctorCheck = { name: "node", state: "ok", detail: `${process.versions.node} (${process.execPath})` };
  const read = await settingsOf(call, { isOnlyLooking: true, isTold: false }).then(
    (settings) => ({ settings }),
    (error: Error) => ({ error }),
  );
  if ("error" in read)
    return [
      node,
      { name: "settings", state: "broken", detail: read.error.message, costs: "nothing runs until it is fixed" },
    ];
  const { home, env } = read.settings;
  const untrusted = checkModes(home, env);
  // What config.json names is started to be examined: not where another user may have named it.
  return [node, ...(untrusted.length > 0 ? untrusted : await examineWith(read.settings))];
}

async function examineWith(settings: Settings): Promise<DoctorCheck[]> {
  const { home, env, config } = settings;
  const found = await Promise.all([
    checkHome(home),
    checkConfig(settings),
    checkEnvFiles(settings),
    checkToken(home),
    checkDisk(home),
    checkKeys(env),
    checkChannels(settings),
    checkExtensions(settings),
    checkOllama(env, SERVER_CAP_MS),
    checkAgents(settings, PROGRAM_CAP_MS),
    checkGit(env, PROGRAM_CAP_MS),
    checkTmux(env, PROGRAM_CAP_MS),
    checkMcpServers(settings),
    checkSandbox(config.sandbox?.unsafe ?? false),
  ]);
  return found.flat();
}

function linesFor(check: DoctorCheck, { columns, paint }: Terminal): string[] {
  const beside = (mark: string, text: string) => wrapBeside(`${mark} ${check.name.padEnd(12)} `, LABEL, text, columns);
  if (check.state === "ok") return beside(paint.green("✓"), check.detail);
  const mark = check.state === "missing" ? paint.yellow("–") : paint.red("✗");
  const costs = paint.dim(`so: ${check.costs}`);
  return [...beside(mark, check.detail), ...wrapBeside(" ".repeat(LABEL), LABEL, costs, columns)];
}

/** The width of mark and name. */
const LABEL = 15;
