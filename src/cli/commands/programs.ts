import { spawn } from "node:child_process";
import { once } from "node:events";
import { nearest } from "../../boundary/nearest.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import { systemClock } from "../../runtime/config/system-clock.ts";
import { LoginBroker } from "../../runtime/logins/login-broker.ts";
import { loginFormatOf } from "../../runtime/logins/login-formats.ts";
import { type LoginStatus, loginStatus } from "../../runtime/logins/login-status.ts";
import { broughtBy, missingFor } from "../../runtime/programs/missing-program.ts";
import { INSTALLED_BY, programsOf } from "../../workers/outside/programs.ts";
import { programVersion } from "../doctor/agent-checks.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { loginInWords } from "../wording/login.ts";
import { unknownAction } from "../wording/usage-words.ts";

const VERSION_CAP_MS = 5000;

interface ProgramStatus extends LoginStatus {
  name: string;
  installed: boolean;
  version: string | null;
}

export async function programs(call: Invocation, action: string, name?: string): Promise<ExitCode> {
  if (action === "status") return status(call, name);
  if (action === "login") return login(call, name);
  throw new UsageError(unknownAction("programs", action, ["login", "status"]));
}

async function status(call: Invocation, name: string | undefined): Promise<ExitCode> {
  const { terminal, json } = call;
  const settings = await settingsOf(call);
  const broker = brokerOf(settings);
  const all = Object.entries(programsOf(settings.config)).filter(([, { kind }]) => kind !== "mesh");
  const chosen = name === undefined ? all : [named(name, all)];
  const found = await Promise.all(
    chosen.map(async ([each, profile]): Promise<ProgramStatus> => {
      const installed = missingFor(each, profile, settings.env.PATH) === null;
      const version = installed ? await programVersion(profile, settings.env, VERSION_CAP_MS) : null;
      return { name: each, installed, version, ...(await loginStatus(profile, broker, settings)) };
    }),
  );
  if (json) await terminal.printJson({ programs: found.map(asJson) });
  else await terminal.printLines(found.flatMap((each) => lines(each, call)));
  return EXIT.done;
}

/** Runs the program's own login in this terminal, then checks whether a worker could use it. */
async function login(call: Invocation, name: string | undefined): Promise<ExitCode> {
  const { terminal, json } = call;
  if (name === undefined)
    throw new UsageError(
      `Name the program to sign in to, for example: ${commandLine(call, "programs", "login", "codex")}`,
    );
  const settings = await settingsOf(call);
  const [known, profile] = named(name, Object.entries(programsOf(settings.config)));
  const [format] = (profile.share ?? []).flatMap((share) => loginFormatOf(share) ?? []);
  if (!format)
    throw new UsageError(
      `Agiraph does not know how to sign in to ${known}, which your config.json describes. Sign in with that program itself.`,
    );
  const [own = "", ...rest] = format.signIn;
  // Claude Code signs in by the very program that works; for Codex that is another one than works over ACP.
  const works = profile.command[0] ?? own;
  const command = profile.kind === "claude_code" ? works : (broughtBy(works, own, settings.env.PATH) ?? own);
  if (command === "gemini") terminal.say("Gemini CLI asks how you want to sign in; leave it with /quit afterwards.");
  // In the person's own surroundings, as if they had typed it.
  const child = spawn(command, rest, { stdio: "inherit", env: terminal.env as NodeJS.ProcessEnv });
  const [code] = await once(child, "exit").catch(() => {
    throw new UsageError(`${command} was not found. Install it: ${INSTALLED_BY[known] ?? "see its documentation"}`);
  });
  const found = await loginStatus(profile, brokerOf(settings), settings);
  if (json) await terminal.printJson({ name: known, exit_code: code, ...asJson(found) });
  else terminal.say(`${known}: ${loginInWords(found, systemClock.now())}`);
  return found.usable ? EXIT.done : EXIT.failed;
}

function brokerOf({ home, env }: Awaited<ReturnType<typeof settingsOf>>): LoginBroker {
  return new LoginBroker({ home, env, clock: systemClock, fetch });
}

function named(name: string, all: [string, ProgramProfile][]): [string, ProgramProfile] {
  const wanted = name === "claude" ? "claude-code" : name;
  const found = all.find(([each]) => each === wanted);
  if (found) return found;
  const names = all.map(([each]) => each);
  const [near] = nearest(name, [...names, "claude"], 1);
  throw new UsageError(
    `There is no program "${name}".${near ? ` Did you mean ${near}?` : ""} Choose from: ${names.join(", ")}.`,
  );
}

function lines(found: ProgramStatus, call: Invocation): string[] {
  const { paint } = call.terminal;
  const name = found.name.padEnd(12);
  if (!found.installed) {
    const how = INSTALLED_BY[found.name];
    return [`${paint.dim("–")} ${name} not installed${how ? `: ${how}` : ""}`];
  }
  const mark = found.usable ? paint.green("✓") : paint.yellow("–");
  const line = `${mark} ${name} ${found.version ?? "unknown version"}, ${loginInWords(found, systemClock.now())}`;
  const isOurs = found.how === "login" || found.where === null;
  const advice = found.usable || !isOurs ? [] : [`sign in: ${commandLine(call, "programs", "login", found.name)}`];
  return [line, ...advice.map((text) => `${" ".repeat(15)}${paint.dim(text)}`)];
}

/** Times as the API has them: in seconds. */
function asJson<T extends LoginStatus>(found: T) {
  const seconds = (at: number | null) => (at === null ? null : at / 1000);
  const { expires_at, renewed_at, failed_at, ...rest } = found;
  return {
    ...rest,
    expires_at: seconds(expires_at),
    renewed_at: seconds(renewed_at),
    failed_at: seconds(failed_at),
  };
}
