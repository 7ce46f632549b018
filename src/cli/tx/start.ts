import { spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { ApiClient } from "../../client/client.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import { TmuxServer, tmuxSocket } from "../../mesh/terminal/tmux-server.ts";
import { problemWords } from "../../projections/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { PLAIN_VARIABLES } from "../../runtime/meshes/terminal-member.ts";
import { mayRun } from "../../runtime/meshes/trust.ts";
import { programsOf } from "../../workers/outside/programs.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { liveHolder } from "../home/live-holder.ts";
import { settingsOf } from "../home/look.ts";
import { isServer, runningServer } from "../home/other-process.ts";
import { count } from "../wording/format.ts";
import { layoutOf, runningMeshes, type TxCall } from "./project.ts";
import { showProject } from "./status.ts";
import { askBeforeStart } from "./trust.ts";

/** Has the server of the home run the project's meshes. */
export async function start(call: TxCall): Promise<ExitCode> {
  const { terminal } = call;
  const layout = layoutOf(call);
  const settings = await settingsOf(call);
  await askBeforeStart(call, layout, settings);
  const running = await runningServer(settings);
  const client = running ?? (await startServer(call, settings));
  const view = await client.give({
    do: "start_meshes",
    project: layout.project,
    environment: variablesFor(call, settings),
  });
  if (running) terminal.say(serverWords(settings, "They run in the server that was already running"));
  await showProject(call, view);
  if (view.meshes.length === 0 && !call.json)
    terminal.say("No mesh is declared in meshes/mesh-configs/ yet. One that you add there is read at once.");
  const held = view.meshes.filter(({ trust }) => !mayRun(trust)).map(({ mesh }) => mesh);
  if (view.problems.length === 0) return held.length > 0 ? EXIT.waiting : EXIT.done;
  const started = view.meshes.length > 0 ? "The others are started." : "None is started.";
  terminal.say(
    `${count(problemWords(view.problems).length, "problem")}, see above. ${started} Fixed files are read again at once.`,
  );
  return EXIT.failed;
}

/** What programs may have of the caller's environment: a server that is there already has that of the person who started it. */
function variablesFor({ terminal: { env } }: TxCall, { config }: Settings): Record<string, string> {
  const named = Object.values(programsOf(config)).flatMap((profile) => profile.env ?? []);
  const names = [...new Set([...PLAIN_VARIABLES, ...named])];
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])));
}

function serverWords({ home }: Settings, what: string): string {
  const { pid, url } = liveHolder(home) ?? {};
  return `${what} (pid ${pid}, ${url}). To stop it: tx stop --server`;
}

export async function stop(call: TxCall, { server = false }: { server?: boolean } = {}): Promise<ExitCode> {
  const code = server ? await stopServer(call) : await stopMeshes(call);
  const settings = await settingsOf(call);
  if (!server && (await runningServer(settings))) call.terminal.say(serverWords(settings, "The server keeps running"));
  return code;
}

/** Terminals outlive the server: of the meshes of this project nothing is to run on. Other projects go on at its next start. */
async function stopServer(call: TxCall): Promise<ExitCode> {
  const { terminal, json } = call;
  const settings = await settingsOf(call);
  const project = projectIn(call);
  if (project && (await runningMeshes(call, project))) await stopMeshes({ ...call, json: false });
  const holder = liveHolder(settings.home);
  const isThere = holder !== undefined && isServer(holder);
  if (isThere) {
    process.kill(holder.pid, "SIGTERM");
    await untilEnded(holder.pid);
  }
  const pid = isThere ? holder.pid : null;
  if (json) await terminal.printJson({ home: settings.home, server: pid, status: "stopped" });
  terminal.say(
    pid === null ? `No server runs for ${settings.home}.` : `Stopped the server of ${settings.home} (pid ${pid}).`,
  );
  return EXIT.done;
}

function projectIn(call: TxCall): Layout | undefined {
  try {
    return layoutOf(call);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** It shuts down within ten seconds (server/shutdown.ts). */
async function untilEnded(pid: number): Promise<void> {
  for (let waited = 0; isAlive(pid); waited += LOOK_MS) {
    if (waited > MOST_MS)
      throw new Refusal(
        `The server (pid ${pid}) has not ended after ${MOST_MS / 1000} s. To end it at once: kill -9 ${pid}`,
      );
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const LOOK_MS = 100;
const MOST_MS = 20_000;

async function stopMeshes(call: TxCall): Promise<ExitCode> {
  const { terminal, json } = call;
  const layout = layoutOf(call);
  const running = await runningMeshes(call, layout);
  if (!running) {
    // Terminals outlive a server that was killed.
    const { home, env } = await settingsOf(call);
    const server = new TmuxServer(tmuxSocket(home, layout.project), env.PATH ?? "");
    const left = await server.alive().catch(() => []);
    if (left.length > 0) await server.killAll();
    if (json) await terminal.printJson({ project: layout.project, status: "stopped", ended: left });
    const ended = left.length > 0 ? ` Ended leftover sessions: ${left.join(", ")}.` : "";
    terminal.say(`The meshes of ${layout.project} are not started.${ended}`);
    return EXIT.done;
  }
  const ended = running.view.meshes.flatMap(({ mesh, agents }) =>
    agents.filter(({ state }) => isOpen(state)).map(({ name }) => `${mesh}/${name}`),
  );
  const view = await running.client.give({ do: "stop_meshes", id: running.view.id });
  if (json) await terminal.printJson({ project: view.project, status: view.status, ended });
  const sessions = ended.length > 0 ? ` and ended ${ended.join(", ")}` : "";
  terminal.say(`Stopped${sessions}. Messages stay where they are. To continue: tx start`);
  return EXIT.done;
}

function isOpen(state: string | null): boolean {
  return state !== null && !["dead", "gone", "broken"].includes(state);
}

const listeningSchema = z.object({ url: z.string(), pid: z.int() });

/** `agiraph serve` in a process of its own; resolves when it listens. */
async function startServer(call: TxCall, settings: Settings): Promise<ApiClient> {
  const { home } = settings;
  const holder = liveHolder(home);
  if (holder)
    throw new Refusal(
      `The home ${home} is in use by pid ${holder.pid}, which is not a server. Let it end, stop it, or give the meshes a home of their own with --home DIR.`,
    );
  const port = (await isTaken(settings)) ? ["--port=0"] : [];
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const log = openSync(join(home, "serve.log"), "a", 0o600);
  const child = spawn(process.execPath, [...process.execArgv, mainOf(), "serve", "--json", ...port, `--home=${home}`], {
    cwd: home,
    env: { ...call.terminal.env },
    detached: true,
    stdio: ["ignore", "pipe", log],
  });
  const { stdout } = child;
  if (!stdout) throw new Error("the server was started without a pipe for its output");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = () =>
    reject(new Refusal(`The server could not be started. The reason is in ${join(home, "serve.log")}`));
  child.once("error", failed);
  child.once("exit", failed);
  const lines = createInterface({ input: stdout });
  lines.once("line", (line) => {
    const parsed = listeningSchema.safeParse(jsonOf(line));
    if (parsed.success) resolve();
    else failed();
  });
  await promise;
  lines.close();
  child.removeAllListeners("exit");
  stdout.destroy();
  child.unref();
  const client = await runningServer(settings);
  if (!client) throw new Refusal(`The server started and ended again. The reason is in ${join(home, "serve.log")}`);
  call.terminal.say(serverWords(settings, `Started the server of ${home}`));
  return client;
}

/** Another home may use the usual port. */
async function isTaken({ env, config }: Settings): Promise<boolean> {
  if (env.AGIRAPH_PORT || config.server?.port !== undefined) return false;
  const { createServer } = await import("node:net");
  const probe = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  probe.once("error", () => resolve(true)).listen(4747, "127.0.0.1", () => probe.close(() => resolve(false)));
  return promise;
}

/** The main program is beside this one, bundled or as source. */
function mainOf(): string {
  const bundled = join(import.meta.dirname, "main.js");
  return existsSync(bundled) ? bundled : join(import.meta.dirname, "..", "main.ts");
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
