import { spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { ApiClient } from "../../client/client.ts";
import { TmuxServer, tmuxSocket } from "../../mesh/terminal/tmux-server.ts";
import { problemWords } from "../../projections/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { mayRun } from "../../runtime/meshes/trust.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { liveHolder } from "../home/look.ts";
import { runningServer } from "../home/running-server.ts";
import { count } from "../wording/format.ts";
import { layoutOf, runningMeshes, settingsFor, type TxCall } from "./project.ts";
import { showProject } from "./status.ts";
import { askBeforeStart } from "./trust.ts";

/** Hands the project to the server of the home. */
export async function start(call: TxCall): Promise<ExitCode> {
  const { terminal } = call;
  const layout = layoutOf(call);
  const settings = await settingsFor(call);
  await askBeforeStart(call, layout, settings);
  const client = (await runningServer(settings)) ?? (await startServer(call, settings));
  const view = await client.startMeshes(layout.project);
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

export async function stop(call: TxCall): Promise<ExitCode> {
  const { terminal, json } = call;
  const layout = layoutOf(call);
  const running = await runningMeshes(call, layout);
  if (!running) {
    // Terminals outlive a server that was killed.
    const { home, env } = await settingsFor(call);
    const server = new TmuxServer(tmuxSocket(home, layout.project), env.PATH ?? "");
    const left = await server.alive().catch(() => []);
    if (left.length > 0) await server.killAll();
    if (json) await terminal.printJson({ project: layout.project, status: "stopped", ended: left });
    const ended = left.length > 0 ? ` Ended what was left of them: ${left.join(", ")}.` : "";
    terminal.say(`The meshes of ${layout.project} are not started.${ended}`);
    return EXIT.done;
  }
  const ended = running.view.meshes.flatMap(({ mesh, agents }) =>
    agents.filter(({ state }) => isOpen(state)).map(({ name }) => `${mesh}/${name}`),
  );
  const view = await running.client.stopMeshes(running.view.id);
  if (json) await terminal.printJson({ project: view.project, status: view.status, ended });
  const sessions = ended.length > 0 ? ` and ended ${ended.join(", ")}` : "";
  terminal.say(`Stopped${sessions}. Messages stay where they are, and go on with: tx start`);
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
  call.terminal.say(`Started the server of ${home} (pid ${child.pid}): ${client.url}`);
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
