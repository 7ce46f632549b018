import type { DeclaredAgent, DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { buildPrompt, programPrompt } from "../../mesh/declaration/prompt.ts";
import type { Member } from "../../mesh/engine/member.ts";
import { sendFromAgent } from "../../mesh/files/agent-outbox.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import { messageText } from "../../mesh/files/message-text.ts";
import { queueOf } from "../../mesh/files/new-message.ts";
import type { SessionState } from "../../mesh/terminal/session-state.ts";
import { TmuxMember } from "../../mesh/terminal/tmux-member.ts";
import { TmuxServer, tmuxSocket } from "../../mesh/terminal/tmux-server.ts";
import type { Model } from "../../models/model.ts";
import type { Config, ProgramProfile } from "../../protocol/index.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { programHome } from "../../store/paths.ts";
import type { Tool } from "../../tools/tool.ts";
import { Purse } from "../../workers/loop/purse.ts";
import type { Actor, Recorder } from "../../workers/loop/recorded-loop.ts";
import type { ProgramPorts } from "../../workers/outside/program-ports.ts";
import type { Environment } from "../config/settings.ts";
import { HarnessedMember } from "./harnessed-member.ts";
import { HeadlessMember } from "./headless-member.ts";
import { PlainMember } from "./plain-member.ts";
import { MESH_RUN, type MeshRecord, type MeshRecordPorts, workerIdOf } from "./record.ts";
import { describedRun, modelName, programName, type Runs, runsOf } from "./run-kinds.ts";
import { meshScope } from "./scope.ts";
import { sessionOf, terminalMember } from "./terminal-member.ts";
import type { MeshTrust } from "./trust.ts";
import { txTools } from "./tx-tools.ts";

/** What the house has for those who work in meshes. */
export interface MembersPorts {
  home: string;
  env: Environment;
  outside: ProgramPorts;
  sandbox(): Promise<Sandbox>;
  model(id: string): Promise<Model>;
  tools(scope: ReturnType<typeof meshScope>, actor: Actor, model: Model, record: Recorder): Tool[];
  maxTurns: number;
  /** How `tx` is called in a terminal. */
  tx: readonly string[];
  /** What a person has agreed to. */
  trust: MeshTrust;
  /** The profiles of config.json, for what a person is told before they agree. */
  config: Pick<Config, "programs">;
  /** The person's. */
  readonly timeZone: string;
}

export interface AgentStatusView {
  runs: Runs;
  program: string;
  state: SessionState | null;
  /** How it came to this state, where there is something to be said. */
  detail: string | null;
  /** Since when, in seconds. */
  since: number | null;
  /** What keeps it from beginning, whether or not anybody has tried. */
  problem: string | null;
}

/** A terminal is begun anew, or whoever sits there can be told something now. */
export type Begun = (state: "starting" | "ready", mesh: string, agent: string) => void;

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
  readonly #states = new Map<string, Pick<AgentStatusView, "state" | "detail" | "since">>();
  /** Those who are being let go: whoever comes after them waits for that. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #server: TmuxServer;
  readonly #purse: Purse;

  readonly #begun: Begun;

  constructor(layout: Layout, recordPorts: MeshRecordPorts, record: MeshRecord, ports: MembersPorts, begun: Begun) {
    this.#begun = begun;
    this.#layout = layout;
    this.#recordPorts = recordPorts;
    this.#record = record;
    this.#ports = ports;
    this.#server = new TmuxServer(tmuxSocket(ports.home, layout.project), ports.env.PATH ?? "");
    this.#purse = new Purse(recordPorts.pending);
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
      this.#reporter(mesh, agent)("broken", error instanceof Error ? error.message : String(error));
      return this.#absent(mesh, agent);
    }
    const member = this.#closable(key, made);
    if (made instanceof TmuxMember) this.#terminals.set(key, made);
    this.#members.set(key, member);
    return member;
  }

  /** A program that is not here may be there for the next message. */
  #absent(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    return {
      tell: async (message) => {
        this.#program(mesh, agent);
        await this.member(mesh, agent).tell(message);
      },
      close: async () => this.#members.get(`${mesh.config.mesh}/${agent.name}`)?.close(),
    };
  }

  /** Null for somebody who has none. Throws, with advice, where its program is not here. */
  terminal(mesh: DeclaredMesh, agent: DeclaredAgent): TmuxMember | null {
    if (this.#runs(mesh, agent) !== "tmux") return null;
    this.#program(mesh, agent);
    this.member(mesh, agent);
    return this.#terminals.get(`${mesh.config.mesh}/${agent.name}`) ?? null;
  }

  /** What keeps an agent from beginning, before anybody has tried. */
  problemOf(mesh: DeclaredMesh, agent: DeclaredAgent): string | null {
    if (runsOf(agent) === "harnessed") return null;
    try {
      this.#program(mesh, agent);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Sees which terminals have outlived the process before this one. */
  async look(): Promise<void> {
    this.#left = new Set(await this.#server.alive().catch(() => []));
  }

  #left: ReadonlySet<string> = new Set();

  isLeft(mesh: DeclaredMesh, agent: DeclaredAgent): boolean {
    return this.#runs(mesh, agent) === "tmux" && this.#left.has(sessionOf(mesh.config.mesh, agent.name));
  }

  /** Whoever was left running is looked after again. */
  async takeUp(meshes: Iterable<DeclaredMesh>): Promise<void> {
    for (const mesh of meshes) {
      for (const agent of mesh.agents.values()) {
        // Why not, the next message says.
        await this.#terminals
          .get(`${mesh.config.mesh}/${agent.name}`)
          ?.sitDown()
          .catch(() => {});
      }
    }
  }

  stateOf(mesh: DeclaredMesh, agent: DeclaredAgent): AgentStatusView {
    const standing = this.#states.get(`${mesh.config.mesh}/${agent.name}`) ?? {
      state: null,
      detail: null,
      since: null,
    };
    const problem = this.problemOf(mesh, agent);
    return { runs: this.#runs(mesh, agent), program: describedRun(agent), problem, ...standing };
  }

  attachWords(mesh: DeclaredMesh, agent: DeclaredAgent): string[] | null {
    if (this.#runs(mesh, agent) !== "tmux") return null;
    return this.#server.attachWords(sessionOf(mesh.config.mesh, agent.name));
  }

  /** Also a terminal that an earlier process of ours began. Who comes meanwhile waits, and stays. */
  async end(mesh: DeclaredMesh, agent: DeclaredAgent): Promise<void> {
    const key = `${mesh.config.mesh}/${agent.name}`;
    const there = this.#members.get(key);
    if (there) await there.close();
    else if (runsOf(agent) === "tmux")
      await this.#letGo(key, this.#server.kill(sessionOf(mesh.config.mesh, agent.name)));
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#members.values()].map((member) => member.close()));
    await Promise.allSettled(this.#closing.values());
    // Also who is declared no more, and whoever began something in such a terminal.
    if (!this.isLeaving) await this.#server.killAll().catch(() => {});
  }

  #closable(key: string, made: Member): Member {
    const before = this.#closing.get(key);
    const member: Member = {
      tell: async (message) => {
        await before;
        await made.tell(message);
      },
      close: async () => {
        if (this.#members.get(key) === member) {
          this.#members.delete(key);
          this.#terminals.delete(key);
        }
        await this.#letGo(key, made.close());
      },
    };
    return member;
  }

  /** Whoever comes next waits for this, and for what was waited for already. */
  async #letGo(key: string, closing: Promise<void>): Promise<void> {
    const ended = Promise.allSettled([this.#closing.get(key), closing]).then(() => {
      if (this.#closing.get(key) === ended) this.#closing.delete(key);
    });
    this.#closing.set(key, ended);
    await closing;
  }

  /** As declared, but in a terminal only where a person allowed terminals for exactly this content. */
  #runs(mesh: DeclaredMesh, agent: DeclaredAgent): Runs {
    const runs = runsOf(agent);
    if (runs !== "tmux") return runs;
    return this.#ports.trust.stateOf(this.#layout.project, mesh).terminals ? "tmux" : "headless";
  }

  #make(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    switch (this.#runs(mesh, agent)) {
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
    const place = placeOf(mesh, agent);
    const tellHuman = (text: string) => this.#record.tellHuman(place.mesh, place.agent, text);
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
        before: this.#closing.get(`${mesh.config.mesh}/${agent.name}`) ?? Promise.resolve(),
      },
      { mesh, agent, ...this.#program(mesh, agent), tellHuman, record: this.#reporter(mesh, agent) },
    );
  }

  #headless(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    const place = placeOf(mesh, agent);
    const scope = meshScope(this.#layout, place, this.#ports.home);
    const binds = () => scope.binds();
    const { profile, model, programHome: home } = this.#program(mesh, agent);
    const { project } = this.#layout;
    if (profile.kind === "autonomous")
      return new PlainMember({
        ...this.#speaking(mesh, agent),
        ...{ outside: this.#ports.outside, profile, home, binds },
        workspace: this.#layout.workspace(place.mesh, place.agent),
        output: this.#layout.output(place.mesh),
        about: { TX_MESH: place.mesh, TX_AGENT: place.agent, TX_PROJECT: project },
        say: (message) => sendFromAgent(this.#layout, place, new Date(this.#recordPorts.clock.now()), message),
        record: this.#reporter(mesh, agent),
      });
    return new HeadlessMember({
      ...this.#speaking(mesh, agent),
      outside: this.#ports.outside,
      profile,
      model,
      cwd: project,
      home,
      binds,
      tools: txTools(this.#layout, place, this.#recordPorts.clock.now),
      mayIt: (request) => this.#record.mayIt(workerIdOf(place.mesh, place.agent), request),
      record: this.#reporter(mesh, agent),
    });
  }

  #harnessed(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    const place = placeOf(mesh, agent);
    const { log, now, pending, clock, live } = this.#recordPorts;
    const { tools, maxTurns, model, timeZone } = this.#ports;
    const recorder: Recorder = { log, now, pending, clock, live, timeZone, purse: this.#purse };
    const scope = meshScope(this.#layout, place, this.#ports.home);
    return new HarnessedMember({
      ...this.#speaking(mesh, agent),
      worker_id: workerIdOf(place.mesh, place.agent),
      recorder,
      model: () => model(agent.config.options?.model ?? ""),
      tools: (actor, mind) => [
        ...tools(scope, actor, mind, recorder).filter(({ spec }) => !NOT_THEIRS.has(spec.name)),
        ...txTools(this.#layout, place, clock.now),
      ],
      record: this.#reporter(mesh, agent),
      maxTurns,
    });
  }

  #speaking(mesh: DeclaredMesh, agent: DeclaredAgent) {
    const place = placeOf(mesh, agent);
    return {
      prompt: async () => programPrompt(this.#layout, buildPrompt(mesh, agent)),
      words: (message: MeshMessage) => messageText(this.#layout, place, message),
      isActive: (name: string) => queueOf(this.#layout, place, name) === "active",
      giveUp: async (why: string) => {
        const at = new Date(this.#recordPorts.clock.now());
        await sendFromAgent(this.#layout, place, at, { to: "mesh", type: "error", body: why });
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
      if (this.#states.get(key)?.state === state) return;
      const since = this.#recordPorts.clock.now() / 1000;
      this.#states.set(key, { state, detail: detail ?? null, since });
      this.#record.record({ type: "mesh.session", data: { ...place, state, ...(detail !== undefined && { detail }) } });
      if (state === "broken") this.#record.tellHuman(place.mesh, place.agent, brokenWords(place, detail ?? "it ended"));
      const isBegun = state === "ready" || (state === "starting" && this.#runs(mesh, agent) === "tmux");
      if (isBegun) this.#begun(state, place.mesh, place.agent);
    };
  }
}

/** Of memory they have none but the shared files. */
const NOT_THEIRS = new Set(["memory_write", "memory_search", "memory_read", "offer_insight"]);

function placeOf(mesh: DeclaredMesh, agent: DeclaredAgent): { mesh: string; agent: string } {
  return { mesh: mesh.config.mesh, agent: agent.name };
}

function brokenWords({ mesh, agent }: { mesh: string; agent: string }, why: string): string {
  return `${mesh}/${agent} cannot work: ${why} What is for it waits. When that is mended, begin it: tx spawn ${mesh} ${agent}`;
}
