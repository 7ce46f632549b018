import { execFileSync } from "node:child_process";
import type { DeclaredAgent, DeclaredMesh } from "../mesh/config.ts";
import type { Layout } from "../mesh/layout.ts";
import type { Letter } from "../mesh/letter.ts";
import type { Member } from "../mesh/meshes.ts";
import { queueOf } from "../mesh/outgoing.ts";
import { buildPrompt, promptText } from "../mesh/prompt.ts";
import { sayFrom } from "../mesh/speaking.ts";
import { wordsFor } from "../mesh/telling.ts";
import { TmuxMember } from "../mesh/tmux-member.ts";
import { TmuxServer, tmuxSocket } from "../mesh/tmux-server.ts";
import type { SessionState } from "../mesh/tmux-session.ts";
import type { Model } from "../models/model.ts";
import type { ProgramProfile } from "../protocol/index.ts";
import type { Sandbox } from "../sandbox/index.ts";
import { programHome } from "../store/paths.ts";
import type { Tool } from "../tools/tool.ts";
import type { Actor, Recorder } from "../workers/carry-out.ts";
import type { OutsidePlace } from "../workers/outside/place.ts";
import { CLAUDE_CODE } from "../workers/outside/programs.ts";
import { Purse } from "../workers/purse.ts";
import { HarnessedMember } from "./mesh-harnessed.ts";
import { HeadlessMember } from "./mesh-headless.ts";
import type { MeshRecordPorts } from "./mesh-project.ts";
import { MESH_RUN, type MeshRecord, workerIdOf } from "./mesh-record.ts";
import { meshScope } from "./mesh-scope.ts";
import { sessionOf, terminalMember } from "./mesh-terminals.ts";
import { meshTools } from "./mesh-tools.ts";
import type { Environment } from "./settings.ts";

/** What the house has for those who work in meshes. */
export interface MembersPorts {
  home: string;
  env: Environment;
  outside: OutsidePlace;
  sandbox(): Promise<Sandbox>;
  model(id: string): Promise<Model>;
  tools(scope: ReturnType<typeof meshScope>, actor: Actor, model: Model, record: Recorder): Tool[];
  maxTurns: number;
  /** How `tx` is called in a terminal. */
  tx: readonly string[];
}

type Runs = "tmux" | "headless" | "harnessed";

export interface AgentStanding {
  runs: Runs;
  program: string;
  state: SessionState | null;
}

/** Whoever does what the agents of a project's meshes are given, each of its kind. */
export class MeshMembers {
  /** The house closes; terminals are left as they are. */
  isLeaving = false;
  readonly #layout: Layout;
  readonly #ports: MembersPorts;
  readonly #recordPorts: MeshRecordPorts;
  readonly #record: MeshRecord;
  readonly #members = new Map<string, Member>();
  readonly #terminals = new Map<string, TmuxMember>();
  readonly #states = new Map<string, SessionState>();
  readonly #server: TmuxServer;
  readonly #purse: Purse;

  readonly #begun: (mesh: string, agent: string) => void;

  constructor(
    layout: Layout,
    recordPorts: MeshRecordPorts,
    record: MeshRecord,
    ports: MembersPorts,
    begun: (mesh: string, agent: string) => void,
  ) {
    this.#begun = begun;
    this.#layout = layout;
    this.#recordPorts = recordPorts;
    this.#record = record;
    this.#ports = ports;
    this.#server = new TmuxServer(tmuxSocket(ports.home, layout.project), ports.env.PATH ?? "");
    this.#purse = new Purse(recordPorts.soon);
  }

  /** One for each agent, made when it is first needed, and again after it was closed. */
  member(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    const key = `${mesh.config.mesh}/${agent.name}`;
    const there = this.#members.get(key);
    if (there) return there;
    let made: Member;
    try {
      made = this.#make(mesh, agent);
    } catch (error) {
      // A program that is not here may be there for the next letter.
      return { tell: () => Promise.reject(error), close: async () => {} };
    }
    const member = closing(made, () => {
      this.#members.delete(key);
      this.#terminals.delete(key);
    });
    if (made instanceof TmuxMember) this.#terminals.set(key, made);
    this.#members.set(key, member);
    return member;
  }

  /** Null for somebody who has none. */
  terminal(mesh: DeclaredMesh, agent: DeclaredAgent): TmuxMember | null {
    this.member(mesh, agent);
    return this.#terminals.get(`${mesh.config.mesh}/${agent.name}`) ?? null;
  }

  /** Terminals that outlived the process before this one are looked after again. */
  async takeUp(meshes: Iterable<DeclaredMesh>): Promise<void> {
    const alive = new Set(await this.#server.alive().catch(() => []));
    for (const mesh of meshes) {
      for (const agent of mesh.agents.values()) {
        if (!alive.has(sessionOf(mesh.config.mesh, agent.name)) || this.#runs(agent) !== "tmux") continue;
        await this.terminal(mesh, agent)
          ?.start()
          .catch(() => {}); // the next letter says why
      }
    }
  }

  stateOf(mesh: DeclaredMesh, agent: DeclaredAgent): AgentStanding {
    const state = this.#states.get(`${mesh.config.mesh}/${agent.name}`) ?? null;
    return { runs: this.#runs(agent), program: describedRun(agent), state };
  }

  attachWords(mesh: DeclaredMesh, agent: DeclaredAgent): string[] | null {
    if (this.#runs(agent) !== "tmux") return null;
    return this.#server.attachWords(sessionOf(mesh.config.mesh, agent.name));
  }

  /** Also a terminal that an earlier process of ours began. */
  async end(mesh: DeclaredMesh, agent: DeclaredAgent): Promise<void> {
    await this.#members.get(`${mesh.config.mesh}/${agent.name}`)?.close();
    if (this.#runs(agent) === "tmux") await this.#server.kill(sessionOf(mesh.config.mesh, agent.name));
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#members.values()].map((member) => member.close()));
  }

  #make(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    switch (this.#runs(agent)) {
      case "tmux":
        return this.#terminal(mesh, agent);
      case "headless":
        return this.#headless(mesh, agent);
      case "harnessed":
        return this.#harnessed(mesh, agent);
    }
  }

  #terminal(mesh: DeclaredMesh, agent: DeclaredAgent): TmuxMember {
    const { outside, env, home, tx } = this.#ports;
    const { clock } = this.#recordPorts;
    return terminalMember(
      {
        layout: this.#layout,
        server: this.#server,
        outside,
        env,
        home,
        tx,
        now: clock.now,
        isLeaving: () => this.isLeaving,
      },
      { mesh, agent, ...this.#program(mesh, agent), record: this.#reporter(mesh, agent) },
    );
  }

  #headless(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    const place = placeOf(mesh, agent);
    const scope = meshScope(this.#layout, place);
    const { write, read, hide } = scope.binds();
    const { profile, model, programHome: home } = this.#program(mesh, agent);
    return new HeadlessMember({
      ...this.#speaking(mesh, agent),
      outside: this.#ports.outside,
      profile,
      model,
      cwd: this.#layout.project,
      home,
      binds: { write, read, hide },
      tools: meshTools(this.#layout, place, this.#recordPorts.clock.now),
      mayIt: (tool, gist) => this.#record.mayIt(workerIdOf(place.mesh, place.agent), tool, gist),
      record: this.#reporter(mesh, agent),
    });
  }

  #harnessed(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    const place = placeOf(mesh, agent);
    const { log, now, soon, clock, live } = this.#recordPorts;
    const { tools, maxTurns, model } = this.#ports;
    const recorder: Recorder = { log, now, soon, clock, live, purse: this.#purse };
    const scope = meshScope(this.#layout, place);
    return new HarnessedMember({
      ...this.#speaking(mesh, agent),
      worker_id: workerIdOf(place.mesh, place.agent),
      recorder,
      model: () => model(agent.config.options?.model ?? ""),
      tools: (actor, mind) => [
        ...tools(scope, actor, mind, recorder).filter(({ spec }) => !NOT_THEIRS.has(spec.name)),
        ...meshTools(this.#layout, place, clock.now),
      ],
      record: this.#reporter(mesh, agent),
      maxTurns,
    });
  }

  #speaking(mesh: DeclaredMesh, agent: DeclaredAgent) {
    const place = placeOf(mesh, agent);
    return {
      prompt: async () => promptText(await buildPrompt(this.#layout, mesh, agent)),
      words: (letter: Letter) => wordsFor(this.#layout, place, letter),
      isActive: (name: string) => queueOf(this.#layout, place, name) === "active",
      giveUp: async (why: string) => {
        const at = new Date(this.#recordPorts.clock.now());
        await sayFrom(this.#layout, place, at, { to: "mesh", type: "error", body: why });
      },
    };
  }

  #program(mesh: DeclaredMesh, agent: DeclaredAgent) {
    const profile: ProgramProfile = this.#ports.outside.program(programName(agent));
    const worker = workerIdOf(mesh.config.mesh, agent.name);
    return { profile, model: modelName(agent), programHome: programHome(this.#recordPorts.log.dir, MESH_RUN, worker) };
  }

  #reporter(mesh: DeclaredMesh, agent: DeclaredAgent) {
    const place = placeOf(mesh, agent);
    const key = `${place.mesh}/${place.agent}`;
    return (state: SessionState, detail?: string) => {
      if (this.#states.get(key) === state) return;
      this.#states.set(key, state);
      this.#record.record({ type: "mesh.session", data: { ...place, state, ...(detail !== undefined && { detail }) } });
      if (state === "ready") this.#begun(place.mesh, place.agent);
    };
  }

  /** As declared; otherwise a model of a provider thinks in our loop, and a program has a terminal where there are such. */
  #runs({ config: { options = {} } }: DeclaredAgent): Runs {
    if (options.runs) return options.runs;
    if (options.program === undefined && options.model?.includes("/") && !options.model.startsWith(`${CLAUDE_CODE}/`))
      return "harnessed";
    return hasTmux() ? "tmux" : "headless";
  }
}

/** Of memory they have none but the shared files. */
const NOT_THEIRS = new Set(["memory_write", "memory_search", "memory_read", "offer_insight"]);

function placeOf(mesh: DeclaredMesh, agent: DeclaredAgent): { mesh: string; agent: string } {
  return { mesh: mesh.config.mesh, agent: agent.name };
}

function programName({ config: { options } }: DeclaredAgent): string {
  return options?.program ?? CLAUDE_CODE;
}

/** claude-opus, claude-sonnet and claude-haiku are what Claude Code calls opus, sonnet and haiku. */
function modelName({ config: { options } }: DeclaredAgent): string | null {
  const model = options?.model;
  if (model === undefined) return null;
  const [, alias] = /^(?:claude-code\/|claude-)(opus|sonnet|haiku)$/.exec(model) ?? [];
  return alias ?? model;
}

/** For the roster: what somebody is. */
export function describedRun(agent: DeclaredAgent): string {
  const { options } = agent.config;
  const isModel = options?.runs === "harnessed" || (options?.program === undefined && options?.model?.includes("/"));
  if (isModel) return options?.model ?? "default";
  return `${programName(agent)}/${modelName(agent) ?? "default"}`;
}

let tmuxIsHere: boolean | undefined;

function hasTmux(): boolean {
  if (tmuxIsHere === undefined) {
    try {
      execFileSync("tmux", ["-V"], { stdio: "ignore" });
      tmuxIsHere = true;
    } catch {
      tmuxIsHere = false;
    }
  }
  return tmuxIsHere;
}

function closing(member: Member, onClose: () => void): Member {
  return {
    tell: (letter) => member.tell(letter),
    async close() {
      onClose();
      await member.close();
    },
  };
}
