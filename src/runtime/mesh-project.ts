import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { DeclaredAgent, DeclaredMesh } from "../mesh/config.ts";
import { Layout } from "../mesh/layout.ts";
import { type Member, Meshes } from "../mesh/meshes.ts";
import { putMessage } from "../mesh/outgoing.ts";
import type { Situation } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { MessageHeader } from "../protocol/index.ts";
import type { Delta } from "../workers/carry-out.ts";
import type { ForeseenLog } from "./foreseen-log.ts";
import { HumanRefusal } from "./human-refusal.ts";
import { runGate } from "./mesh-gates.ts";
import { type AgentStanding, describedRun, type MembersPorts, MeshMembers } from "./mesh-members.ts";
import { MeshRecord } from "./mesh-record.ts";

/** The record of a project's meshes: an agent's log. */
export interface MeshRecordPorts {
  log: ForeseenLog;
  now(): Situation;
  soon(): Situation;
  clock: Clock;
  live(delta: Delta): void;
}

/** The meshes of one project at work in this process. */
export interface HostedMeshes {
  readonly layout: Layout;
  readonly meshes: Meshes;
  /** How an agent is run and how it is doing, as far as it was begun here. */
  stateOf(mesh: string, agent: string): AgentStanding;
  /** A person's message: to a mesh, or to one of its agents. The name of its file. */
  send(
    mesh: string,
    message: { to: string | null; type: MessageHeader["type"]; text: string; answers?: string },
  ): string;
  /** Begins an agent, or tells it again what it has not ended. */
  spawn(mesh: string, agent: string): Promise<void>;
  kill(mesh: string, agent: string): Promise<void>;
  /** What a person types to sit down before it; null for those without a terminal. */
  attachWords(mesh: string, agent: string): string[] | null;
  close(): Promise<void>;
}

/**
 * Opens the meshes that a project declares, and keeps their record.
 *
 * J1. What the house closes goes on where it was when it is opened again: messages are files, and terminals outlive us.
 */
export async function openMeshes(record: MeshRecordPorts, ports: MembersPorts): Promise<HostedMeshes> {
  const { project } = record.now().agent.created;
  if (project === null) throw new Error("A record of meshes has a project.");
  const layout = new Layout(realpathSync(project));
  const hosted = new MeshProject(layout, record, ports);
  await hosted.open();
  return hosted;
}

class MeshProject implements HostedMeshes {
  readonly layout: Layout;
  readonly meshes: Meshes;
  readonly #record: MeshRecord;
  readonly #members: MeshMembers;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #unheard = new Set<string>();

  constructor(layout: Layout, record: MeshRecordPorts, ports: MembersPorts) {
    this.layout = layout;
    this.#clock = record.clock;
    this.#record = new MeshRecord(layout, record);
    const begun = (mesh: string, agent: string) => {
      // Whoever begins is told what the one before could not be.
      if (this.#unheard.delete(`${mesh}/${agent}`)) setImmediate(() => this.meshes.meshes.get(mesh)?.tellAgain(agent));
    };
    this.#members = new MeshMembers(layout, record, this.#record, ports, begun);
    this.meshes = new Meshes(layout, {
      now: () => record.clock.now(),
      record: (fact) => {
        this.#record.record(fact);
        if (fact.type === "mesh.opened" || fact.type === "mesh.reloaded") this.#introduce(fact.data.mesh);
        if (fact.type === "mesh.undelivered") this.#unheard.add(`${fact.data.mesh}/${fact.data.agent}`);
      },
      member: (mesh, agent): Member => this.#members.member(mesh, agent),
      gate: (mesh, gate) => runGate(layout, mesh, gate, ports.sandbox, this.#stop.signal),
      human: (mesh, agent, letter) => this.#record.toHuman(mesh, agent, letter),
    });
  }

  async open(): Promise<void> {
    mkdirSync(join(this.layout.running, "tmp"), { recursive: true });
    try {
      await this.meshes.open();
    } catch (error) {
      await this.#record.close();
      throw error;
    }
    for (const mesh of this.meshes.meshes.keys()) this.#introduce(mesh);
    this.#record.giveAnswers();
    await this.#members.takeUp([...this.meshes.meshes.values()].map(({ declared }) => declared));
  }

  stateOf(mesh: string, agent: string): AgentStanding {
    return this.#members.stateOf(...this.#declared(mesh, agent));
  }

  send(mesh: string, { to, type, text, answers }: Parameters<HostedMeshes["send"]>[1]): string {
    const declared = this.#mesh(mesh);
    if (to !== null && !declared.agents.has(to)) throw noAgent(declared, to);
    const place = { mesh, agent: to };
    const message = { from: "human", to: to === null ? mesh : `${mesh}/${to}`, type, body: text };
    const at = new Date(this.#clock.now());
    return putMessage(this.layout, place, "inbox", at, { ...message, ...(answers !== undefined && { answers }) });
  }

  async spawn(mesh: string, agent: string): Promise<void> {
    const [declared, who] = this.#declared(mesh, agent);
    const member = this.#members.terminal(declared, who);
    if (!member)
      throw new HumanRefusal("conflict", `${mesh}/${agent} has no terminal; it begins with its first message.`);
    const hasEnded = member.state === "dead" || member.state === "gone";
    await member.start();
    // What it had not ended is told to whoever comes after it.
    if (hasEnded) this.meshes.meshes.get(mesh)?.tellAgain(agent);
  }

  async kill(mesh: string, agent: string): Promise<void> {
    const [declared, who] = this.#declared(mesh, agent);
    await this.meshes.dismiss(mesh, agent);
    await this.#members.end(declared, who);
  }

  attachWords(mesh: string, agent: string): string[] | null {
    return this.#members.attachWords(...this.#declared(mesh, agent));
  }

  async close(): Promise<void> {
    this.#members.isLeaving = true;
    this.#stop.abort(new Error("closed"));
    await this.meshes.close();
    await this.#members.close();
    await this.#record.close();
  }

  #introduce(mesh: string): void {
    const declared = this.meshes.meshes.get(mesh)?.declared;
    if (!declared) return;
    const runs = [...declared.agents.values()].map((agent) => [agent.name, describedRun(agent)] as const);
    this.#record.introduce(mesh, new Map(runs));
  }

  #mesh(mesh: string): DeclaredMesh {
    const declared = this.meshes.meshes.get(mesh)?.declared;
    if (declared) return declared;
    const names = [...this.meshes.meshes.keys()];
    const list = names.length > 0 ? `There are: ${names.join(", ")}.` : "None is declared in meshes/mesh-configs/.";
    throw new HumanRefusal("not_found", `There is no mesh "${mesh}". ${list}`);
  }

  #declared(mesh: string, agent: string): [DeclaredMesh, DeclaredAgent] {
    const declared = this.#mesh(mesh);
    const who = declared.agents.get(agent);
    if (!who) throw noAgent(declared, agent);
    return [declared, who];
  }
}

function noAgent({ config, agents }: DeclaredMesh, agent: string): HumanRefusal {
  return new HumanRefusal(
    "not_found",
    `There is no agent "${agent}" in ${config.mesh}. There are: ${[...agents.keys()].join(", ")}.`,
  );
}
