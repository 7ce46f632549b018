import type { DeclaredAgent } from "../../mesh/declaration/declared-agent.ts";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { promptText, sessionPrompt } from "../../mesh/declaration/prompt.ts";
import { agentsBeside } from "../../mesh/declaration/topology.ts";
import { sendFromAgent } from "../../mesh/files/agent-outbox.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import { messageText, type SpeaksBy } from "../../mesh/files/message-text.ts";
import { queueOf } from "../../mesh/files/new-message.ts";
import type { Member } from "../../mesh/running/member.ts";
import type { TmuxMember } from "../../mesh/terminal/tmux-member.ts";
import type { TmuxServer } from "../../mesh/terminal/tmux-server.ts";
import type { Model } from "../../models/model.ts";
import type { AgentId, Config, ProgramProfile } from "../../protocol/index.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { programHome } from "../../store/paths.ts";
import type { Tool } from "../../tools/tool.ts";
import { Purse } from "../../workers/loop/purse.ts";
import type { ActingWorker, Recorder } from "../../workers/loop/recorded-loop.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { Environment } from "../config/settings.ts";
import { HarnessedMember } from "./harnessed-member.ts";
import { HeadlessMember } from "./headless-member.ts";
import { meshNamed } from "./hirable-meshes.ts";
import { cloneFor, cloneWords, type GivingAgent, type MeshClone } from "./mesh-clone.ts";
import { MESH_RUN, type MeshRecord, type MeshRecordPorts, memberIdOf } from "./mesh-record.ts";
import { meshScope } from "./mesh-scope.ts";
import { PlainMember } from "./plain-member.ts";
import { modelName, programName, type RunsAs, runsAs, runsGiven, speaksBy } from "./runs-as.ts";
import type { ReportState } from "./session-reports.ts";
import { terminalMember } from "./terminal-member.ts";
import type { MeshTrust } from "./trust.ts";
import { txTools } from "./tx-tools.ts";

/** What the runtime provides for the members of meshes. */
export interface MembersPorts {
  home: string;
  env: Environment;
  /** The part of the environment that came with the start of the meshes: it overrides ours for programs. */
  given(): Environment;
  outside: ProgramPorts;
  sandbox(): Promise<Sandbox>;
  model(id: string): Promise<Model>;
  tools(scope: ReturnType<typeof meshScope>, self: ActingWorker, model: Model, recorder: Recorder): Tool[];
  maxTurns: number;
  /** How `tx` is called in a terminal. */
  tx: readonly string[];
  /** What a person has agreed to. */
  trust: MeshTrust;
  /** An agent of this home, which may have given a mesh its task. */
  giving(id: AgentId): Promise<GivingAgent | undefined>;
  /** The profiles of config.json, for what a person is told before they agree. */
  config: Pick<Config, "programs">;
  /** The person's time zone. */
  readonly timeZone: string;
}

export interface MemberOrder {
  mesh: DeclaredMesh;
  agent: DeclaredAgent;
  report: ReportState;
  /** Whether terminals are left running when the member is closed. */
  isLeaving(): boolean;
  /** Resolves when the former session of this agent has ended. */
  before: Promise<void>;
}

/** Creates the member that does an agent's work: a terminal, a program without one, or a model in our own loop. */
export class MemberFactory {
  readonly #layout: Layout;
  readonly #ports: MembersPorts;
  readonly #record: MeshRecord;
  readonly #recordPorts: MeshRecordPorts;
  readonly #server: TmuxServer;
  readonly #purse: Purse;

  constructor(
    layout: Layout,
    ports: MembersPorts,
    server: TmuxServer,
    record: MeshRecord,
    recordPorts: MeshRecordPorts,
  ) {
    this.#layout = layout;
    this.#ports = ports;
    this.#server = server;
    this.#record = record;
    this.#recordPorts = recordPorts;
    this.#purse = new Purse(recordPorts.pending);
  }

  /** As declared, but in a terminal only if a person allowed terminals for exactly this content. */
  runs(mesh: DeclaredMesh, agent: DeclaredAgent): RunsAs {
    return runsGiven(agent, this.#ports.trust.stateOf(this.#layout.project, mesh));
  }

  /** What keeps an agent from starting, before anybody has tried; null if nothing does. */
  problemOf(agent: DeclaredAgent): string | null {
    if (runsAs(agent) === "harnessed") return null;
    try {
      this.profileOf(agent);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** The profile of its program. Throws, with advice, if the program is not installed. */
  profileOf(agent: DeclaredAgent): ProgramProfile {
    return this.#ports.outside.program(programName(agent));
  }

  make(order: MemberOrder): Member {
    switch (this.runs(order.mesh, order.agent)) {
      case "tmux":
        return this.#terminal(order);
      case "headless":
        return this.#headless(order);
      case "harnessed":
        return this.#harnessed(order);
    }
  }

  #terminal({ mesh, agent, report, isLeaving, before }: MemberOrder): TmuxMember {
    const { outside, home, tx } = this.#ports;
    const env = { ...this.#ports.env, ...this.#ports.given() };
    const address = addressOf(mesh, agent);
    const tellWaiting = (text: string) => this.#record.tellWaiting(address, text);
    const { now } = this.#recordPorts.clock;
    return terminalMember(
      { layout: this.#layout, server: this.#server, outside, env, home, tx, now, isLeaving, before },
      { mesh, agent, ...this.#program(mesh, agent), tellWaiting, record: report },
    );
  }

  #headless({ mesh, agent, report }: MemberOrder): Member {
    const address = addressOf(mesh, agent);
    const { profile, model, programHome: home } = this.#program(mesh, agent);
    const { project } = this.#layout;
    const by = speaksBy("headless", profile);
    if (by === "files")
      return new PlainMember({
        ...this.#messaging(mesh, agent, by),
        ...{ outside: this.#ports.outside, profile, home },
        reachFor: async (message) => {
          const clone = await this.#cloneFor(mesh, message);
          return { binds: await this.#scope(mesh, agent, clone).binds(), clone: clone?.folder };
        },
        workspace: this.#layout.workspace(address.mesh, address.agent),
        output: this.#layout.output(address.mesh),
        ownOutput: this.#layout.ownOutput(address.mesh, address.agent),
        about: { TX_MESH: address.mesh, TX_AGENT: address.agent, TX_PROJECT: project },
        say: (message) => sendFromAgent(this.#layout, address, this.#now(), message),
        record: report,
      });
    return new HeadlessMember({
      ...this.#messaging(mesh, agent, by),
      clock: this.#recordPorts.clock,
      outside: this.#ports.outside,
      profile,
      model,
      home,
      folderFor: async (message) => {
        const clone = await this.#cloneFor(mesh, message);
        const scope = this.#scope(mesh, agent, clone);
        const about = clone ? cloneWords(clone, "tools", project) : "";
        return { cwd: clone?.folder ?? project, binds: () => scope.binds(), about };
      },
      tools: txTools(this.#layout, address, this.#recordPorts.clock.now),
      clearsBefore: agent.config.options?.clear_before ?? false,
      askPermission: (request) => this.#record.askPermission(memberIdOf(address.mesh, address.agent), request),
      record: report,
    });
  }

  #harnessed({ mesh, agent, report }: MemberOrder): Member {
    const address = addressOf(mesh, agent);
    const { log, now, pending, clock, live } = this.#recordPorts;
    const { tools, maxTurns, model, timeZone } = this.#ports;
    const recorder: Recorder = { log, now, pending, clock, live, timeZone, purse: this.#purse };
    const messaging = this.#messaging(mesh, agent, "model");
    return new HarnessedMember({
      ...messaging,
      prompt: async (begunBy) => {
        const clone = await this.#cloneFor(mesh, begunBy);
        const about = clone ? [cloneWords(clone, "model", this.#layout.project)] : [];
        return [await messaging.prompt(), ...about].join("\n");
      },
      worker_id: memberIdOf(address.mesh, address.agent),
      recorder,
      model: () => model(agent.config.options?.model ?? ""),
      tools: async (self, mind, begunBy) => {
        const scope = this.#scope(mesh, agent, await this.#cloneFor(mesh, begunBy));
        return [
          ...tools(scope, self, mind, recorder).filter(({ spec }) => !NO_MEMORY.has(spec.name)),
          ...txTools(this.#layout, address, clock.now),
        ];
      },
      record: report,
      maxTurns,
    });
  }

  #scope(mesh: DeclaredMesh, agent: DeclaredAgent, clone: MeshClone | undefined): ReturnType<typeof meshScope> {
    const beside = agentsBeside(mesh.plan, agent.name);
    return meshScope(this.#layout, { ...addressOf(mesh, agent), beside }, this.#ports.home, clone);
  }

  #cloneFor({ config: { mesh } }: DeclaredMesh, message: MeshMessage): Promise<MeshClone | undefined> {
    const { outside, giving } = this.#ports;
    const meshOf = (program: string) => meshNamed(program) ?? outside.program(program).command[0];
    return cloneFor(message, { mesh, project: this.#layout.project, meshOf }, giving);
  }

  /** What all members without a terminal need to be told messages and to end their tasks. */
  #messaging(mesh: DeclaredMesh, agent: DeclaredAgent, by: SpeaksBy) {
    const address = addressOf(mesh, agent);
    const backTo = mesh.failureRoutes.get(agent.name)?.to;
    return {
      prompt: async () => promptText(sessionPrompt(this.#layout, mesh, agent, by)),
      words: (message: MeshMessage) => messageText(this.#layout, address, message, { by, backTo }),
      isActive: (name: string) => queueOf(this.#layout, address, name) === "active",
      giveUp: async (why: string) => {
        await sendFromAgent(this.#layout, address, this.#now(), { to: "mesh", type: "error", body: why });
      },
    };
  }

  #program(mesh: DeclaredMesh, agent: DeclaredAgent) {
    const worker = memberIdOf(mesh.config.mesh, agent.name);
    const home = programHome(this.#recordPorts.log.dir, MESH_RUN, worker);
    const profile = this.profileOf(agent);
    const given = this.#ports.given();
    const named = (profile.env ?? []).flatMap((name) => (given[name] ? [[name, given[name]]] : []));
    const set = { ...Object.fromEntries(named), ...profile.set };
    return { profile: { ...profile, set }, model: modelName(agent), programHome: home };
  }

  #now(): Date {
    return new Date(this.#recordPorts.clock.now());
  }
}

/** The agents of a mesh have no memory but the files they share. */
const NO_MEMORY = new Set(["memory_write", "memory_search", "memory_read", "offer_insight"]);

export function addressOf(mesh: DeclaredMesh, agent: DeclaredAgent): { mesh: string; agent: string } {
  return { mesh: mesh.config.mesh, agent: agent.name };
}
