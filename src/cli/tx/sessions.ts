import { spawn } from "node:child_process";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { TmuxServer, tmuxSocket } from "../../mesh/terminal/tmux-server.ts";
import type { MeshView } from "../../protocol/api/meshes.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import {
  agentIn,
  declaredMesh,
  layoutOf,
  type RunningMeshes,
  runningMeshes,
  startedMeshes,
  type TxCall,
  unknown,
} from "./project.ts";

export async function spawnSessions(
  call: TxCall,
  mesh: string,
  agent: string | undefined,
  { init }: { init?: string },
): Promise<ExitCode> {
  const running = await startedMeshes(call, layoutOf(call));
  const agents = agentsOf(running, mesh, agent);
  const { client, view } = running;
  for (const { name, runs } of agents) {
    // Without a name, only those that have a terminal; a named agent without one is refused.
    if (runs !== "tmux" && agent === undefined) continue;
    await client.give({ do: "spawn_mesh_agent", id: view.id, mesh, agent: name });
    call.terminal.say(`${mesh}/${name} is running. To see it: tx attach ${mesh} ${name}`);
  }
  const sent =
    init === undefined
      ? undefined
      : await client.give({ do: "send_to_mesh", id: view.id, mesh, to: agent ?? null, text: init });
  if (sent) call.terminal.say(`Given to ${sent.agent ?? mesh}: ${sent.name}`);
  if (call.json)
    await call.terminal.printJson({ mesh, agents: agents.map(({ name }) => name), message: sent?.name ?? null });
  return EXIT.done;
}

export async function kill(call: TxCall, mesh: string, agent: string | undefined): Promise<ExitCode> {
  const layout = layoutOf(call);
  const running = await runningMeshes(call, layout);
  const names = running
    ? agentsOf(running, mesh, agent).map(({ name }) => name)
    : namesIn(await declaredMesh(layout, mesh), agent);
  const { home, env } = await settingsOf(call);
  const server = new TmuxServer(tmuxSocket(home, layout.project), env.PATH ?? "");
  // Terminals outlive the server.
  const left = running ? [] : (await server.sessions().catch(() => [])).map(({ name }) => name);
  const had = running ? agentsOf(running, mesh, agent).filter(({ state }) => state !== null && state !== "gone") : [];
  const killed = running ? had.map(({ name }) => name) : names.filter((name) => left.includes(`${mesh}-${name}`));
  for (const name of running ? names : killed) {
    if (running) await running.client.give({ do: "kill_mesh_agent", id: running.view.id, mesh, agent: name });
    else await server.kill(`${mesh}-${name}`);
  }
  if (call.json) await call.terminal.printJson({ mesh, killed });
  const ended = killed.map((name) => `${mesh}/${name}`).join(", ");
  call.terminal.say(
    killed.length > 0
      ? `Ended: ${ended}. Their messages stay.`
      : `${names.map((name) => `${mesh}/${name}`).join(", ")} had no session.`,
  );
  return EXIT.done;
}

/** Attaches to the tmux session, until the person detaches. */
export async function attach(call: TxCall, mesh: string | undefined, agent: string | undefined): Promise<ExitCode> {
  const running = await startedMeshes(call, layoutOf(call));
  const { mesh: where, agent: who } = chosen(running, mesh, agent);
  const words = who.attach;
  if (words === null) throw new Refusal(`${where}/${who.name} runs ${who.runs}: it has no terminal to attach to.`);
  if (!isOpen(who))
    throw new Refusal(`${where}/${who.name} has no session now. Start one: tx spawn ${where} ${who.name}`);
  if (call.json) {
    await call.terminal.printJson({ mesh: where, agent: who.name, command: words });
    return EXIT.done;
  }
  if (!call.terminal.stdin.isTTY)
    throw new Refusal(
      `This is not a terminal, so the session cannot be shown here. In a terminal, run: ${words.join(" ")}`,
    );
  const [command = "tmux", ...rest] = words;
  const { TMUX: _, ...env } = call.terminal.env;
  const child = spawn(command, rest, { stdio: "inherit", env });
  return new Promise((resolve, reject) => {
    child.once("error", () =>
      reject(new Refusal("tmux is not installed (Debian, Ubuntu: apt install tmux; macOS: brew install tmux).")),
    );
    child.once("exit", (code) => resolve(code === 0 ? EXIT.done : EXIT.failed));
  });
}

type MeshAgent = MeshView["agents"][number];

function chosen({ view }: RunningMeshes, mesh: string | undefined, agent: string | undefined) {
  const all = view.meshes.flatMap((one) => one.agents.map((who) => ({ mesh: one.mesh, agent: who })));
  const inMesh = mesh === undefined ? all : all.filter((one) => one.mesh === mesh);
  if (mesh !== undefined && inMesh.length === 0)
    throw new UsageError(
      unknown(
        "mesh",
        mesh,
        view.meshes.map((one) => one.mesh),
      ),
    );
  if (agent !== undefined) {
    const named = inMesh.find((one) => one.agent.name === agent);
    if (named) return named;
    throw new UsageError(
      unknown(
        `agent of ${mesh}`,
        agent,
        inMesh.map((one) => one.agent.name),
      ),
    );
  }
  const open = inMesh.filter((one) => isOpen(one.agent));
  const [only] = open;
  if (only && open.length === 1) return only;
  if (!only) throw new Refusal("No session is open. Start one: tx spawn MESH AGENT");
  const list = open.map((one) => `tx attach ${one.mesh} ${one.agent.name}`).join("\n");
  throw new UsageError(`Several sessions are open. Name one:\n${list}`);
}

function isOpen({ runs, state }: MeshAgent): boolean {
  return runs === "tmux" && state !== null && !["dead", "gone", "broken"].includes(state);
}

function agentsOf({ view }: RunningMeshes, mesh: string, agent: string | undefined): MeshAgent[] {
  const found = view.meshes.find((one) => one.mesh === mesh);
  if (!found)
    throw new UsageError(
      unknown(
        "mesh",
        mesh,
        view.meshes.map((one) => one.mesh),
      ),
    );
  if (agent === undefined) return found.agents;
  const who = found.agents.find(({ name }) => name === agent);
  if (!who)
    throw new UsageError(
      unknown(
        `agent of ${mesh}`,
        agent,
        found.agents.map(({ name }) => name),
      ),
    );
  return [who];
}

function namesIn(declared: DeclaredMesh, agent: string | undefined): string[] {
  return agent === undefined ? [...declared.agents.keys()] : [agentIn(declared, agent)];
}
