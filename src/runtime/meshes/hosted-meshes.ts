import { mkdirSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { didYouMean } from "../../boundary/nearest.ts";
import type { DeclaredAgent } from "../../mesh/declaration/declared-agent.ts";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { addressName, Layout } from "../../mesh/files/layout.ts";
import { readMessage } from "../../mesh/files/mesh-message.ts";
import { titleOf } from "../../mesh/files/message-file.ts";
import { putMessage } from "../../mesh/files/new-message.ts";
import { Queues } from "../../mesh/files/queue.ts";
import { Meshes } from "../../mesh/running/meshes.ts";
import type { MeshEnd } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { HUMAN, type MeshFact, type MessageHeader } from "../../protocol/index.ts";
import { HumanRefusal } from "../human/human-refusal.ts";
import { onItsOwn } from "../state/acting.ts";
import { type Agreed, MeshConsent, type MeshTrustView } from "./consent.ts";
import type { MembersPorts } from "./member-factory.ts";
import { type AgentStatusView, MeshMembers } from "./members.ts";
import { type FailureView, MeshRecord, type MeshRecordPorts } from "./mesh-record.ts";
import { runGate } from "./run-gate.ts";
import { describedRun } from "./runs-as.ts";
import type { SessionStarted } from "./session-reports.ts";

/** The meshes of one project at work in this process. */
export interface HostedMeshes {
  readonly layout: Layout;
  readonly meshes: Meshes;
  /** How an agent is run and how it is doing, as far as it was started here. */
  stateOf(mesh: string, agent: string): AgentStatusView;
  /** A person's message: to a mesh, or to one of its agents. The name of its file. */
  send(
    mesh: string,
    message: { to: string | null; type: MessageHeader["type"]; text: string; answers?: string },
  ): string;
  /** Moves what has been complete for this many days to `archive/`. How many were moved. */
  archive(mesh: string, days: number): number;
  /** Starts an agent, or tells it again what it has not ended. */
  spawn(mesh: string, agent: string): Promise<void>;
  kill(mesh: string, agent: string): Promise<void>;
  /** How the last task of the mesh itself ended. */
  lastEnd(mesh: string): MeshEnd | null;
  /** Tasks of the person's own that failed and that they have not seen, over restarts. */
  failuresOf(mesh: string): FailureView[];
  /** What is wrong with the declarations, or keeps an agent from starting. */
  problems(): { file: string; problem: string }[];
  /** What the person agreed to, and what they see before they agree to what is declared now. */
  trustOf(mesh: string): MeshTrustView;
  /** The person trusts this content. Refused if the project holds another one now. */
  trust(mesh: string, agreed: Agreed): Promise<void>;
  /** Ends everything that was started of it; its messages stay. */
  distrust(mesh: string): Promise<void>;
  /** The command that attaches to its terminal; null if it has none. */
  attachWords(mesh: string, agent: string): string[] | null;
  /** Resolves when everything that has happened so far is on record. */
  recorded(): Promise<void>;
  /** `leaves`: the runtime closes, and terminals go on running. `ends`: nothing of the meshes runs on. */
  close(how: "leaves" | "ends"): Promise<void>;
}

/**
 * Opens the meshes that a project declares, and keeps their record.
 *
 * MESH-PROJECT-1. When the runtime is closed and opened again, everything continues where it was: messages are files,
 *     and terminals outlive us.
 * MESH-PROJECT-2. When a person stops the meshes, nothing keeps running: sessions end with everything they started.
 *     Unfinished tasks are delivered again at the next start.
 * MESH-PROJECT-3. What a command does is recorded with its actor: the message that was sent when it is received, the
 *     start of a session, its end, trust and its end. What follows from that is the meshes' own doing and has none.
 */
export async function openMeshes(record: MeshRecordPorts, ports: MembersPorts): Promise<HostedMeshes> {
  const { project } = record.now().agent.created;
  if (project === null) throw new Error("the record of a project's meshes has no project");
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
  readonly #undelivered = new Set<string>();
  readonly #consent: MeshConsent;
  /** As in the record, but at once: the record is a moment behind. */
  readonly #lastEnds: Map<string, MeshEnd>;

  constructor(layout: Layout, record: MeshRecordPorts, ports: MembersPorts) {
    this.layout = layout;
    this.#clock = record.clock;
    this.#record = new MeshRecord(layout, record);
    this.#lastEnds = new Map(Object.entries(record.now().mesh_ends));
    const onStarted: SessionStarted = (state, mesh, agent) => {
      // A new session has heard nothing of what the former one had heard.
      if (state === "starting") setImmediate(() => this.meshes.meshes.get(mesh)?.tellNewcomer(agent));
      else this.#tellUndelivered(mesh, agent);
    };
    this.#members = new MeshMembers(layout, ports, this.#record, record, onStarted);
    this.meshes = new Meshes(layout, {
      home: ports.home,
      now: () => record.clock.now(),
      record: (fact) => {
        this.#record.record(fact);
        if (fact.type === "mesh.held") this.#onHeld(fact.data.mesh);
        if (fact.type === "mesh.opened" || fact.type === "mesh.reloaded") this.#introduce(fact.data.mesh);
        if (fact.type === "mesh.undelivered") this.#undelivered.add(`${fact.data.mesh}/${fact.data.agent}`);
        // What could not be told before the change is told now.
        if (fact.type === "mesh.reloaded" && fact.data.problem === null) this.#tellUndelivered(fact.data.mesh);
        if (fact.type === "mesh.failed" || fact.type === "mesh.completed") this.#ended(fact);
      },
      member: (mesh, agent) => this.#members.member(mesh, agent),
      isLeft: (mesh, agent) => this.#members.isLeft(mesh, agent),
      isTrusted: (mesh) => ports.trust.isTrusted(layout.project, mesh),
      gate: (mesh, gate) => runGate(layout, mesh, gate, ports, this.#stop.signal),
      human: (mesh, agent, message) => this.#record.toHuman(mesh, agent, message),
    });
    this.#consent = new MeshConsent(layout, this.meshes, this.#record, ports);
  }

  async open(): Promise<void> {
    mkdirSync(this.layout.tmp, { recursive: true });
    await this.#members.look();
    try {
      await this.meshes.open();
    } catch (error) {
      await this.#record.close();
      throw error;
    }
    for (const mesh of this.meshes.meshes.keys()) this.#introduce(mesh);
    this.#record.onTrust = (about, answer) => void this.#consent.answered(about, answer);
    this.#record.deliverAnswers();
    await this.#members.reattach([...this.meshes.meshes.values()].map(({ declared }) => declared));
  }

  stateOf(mesh: string, agent: string): AgentStatusView {
    return this.#members.stateOf(...this.#declared(mesh, agent));
  }

  send(mesh: string, { to, type, text, answers }: Parameters<HostedMeshes["send"]>[1]): string {
    const declared = this.#mesh(mesh);
    if (to !== null && !declared.agents.has(to)) throw noAgent(declared, to);
    const address = { mesh, agent: to };
    const message = { from: "human", to: to === null ? mesh : `${mesh}/${to}`, type, body: text };
    const at = new Date(this.#clock.now());
    const named = (name: string) => this.#record.expected.expectReceipt({ ...address, name });
    return putMessage(this.layout, address, "inbox", at, {
      ...message,
      named,
      ...(answers !== undefined && { answers }),
    });
  }

  archive(mesh: string, days: number): number {
    this.#mesh(mesh);
    return this.meshes.archive(mesh, days);
  }

  async spawn(mesh: string, agent: string): Promise<void> {
    const forget = this.#record.expected.expectStart({ mesh, agent });
    await onItsOwn(() => this.#spawn(mesh, agent)).finally(forget);
  }

  async #spawn(mesh: string, agent: string): Promise<void> {
    const [declared, who] = this.#declared(mesh, agent);
    if (!this.meshes.meshes.has(mesh) && this.meshes.held.has(mesh))
      throw new HumanRefusal(
        "conflict",
        `${mesh} is not trusted, so none of it is started. Review it: tx trust ${mesh}`,
      );
    const problem = this.#members.problemOf(who);
    if (problem !== null) throw new HumanRefusal("conflict", `${mesh}/${agent} cannot begin. ${problem}`);
    const member = this.#members.terminal(declared, who);
    if (!member && this.#tellUndelivered(mesh, agent)) return;
    if (!member)
      throw new HumanRefusal(
        "conflict",
        `${mesh}/${agent} has no terminal to start; it starts with its first message.`,
      );
    await member.revive();
    this.#tellUndelivered(mesh, agent);
  }

  async kill(mesh: string, agent: string): Promise<void> {
    const [declared, who] = this.#declared(mesh, agent);
    // At once: a session that a message starts meanwhile is another one, and stays.
    const ended = this.#members.end(declared, who);
    await Promise.all([ended, this.meshes.dismiss(mesh, agent)]);
  }

  trustOf(mesh: string): MeshTrustView {
    return this.#consent.viewOf(this.#mesh(mesh));
  }

  async trust(mesh: string, agreed: Agreed): Promise<void> {
    this.#mesh(mesh);
    await this.#consent.trust(mesh, agreed);
  }

  async distrust(mesh: string): Promise<void> {
    this.#mesh(mesh);
    await this.#consent.distrust(mesh);
  }

  #onHeld(mesh: string): void {
    this.#introduce(mesh);
    this.#consent.ask(mesh);
  }

  recorded(): Promise<void> {
    return this.#record.drained();
  }

  attachWords(mesh: string, agent: string): string[] | null {
    return this.#members.attachWords(...this.#declared(mesh, agent));
  }

  async close(how: "leaves" | "ends"): Promise<void> {
    this.#members.isLeaving = how === "leaves";
    this.#stop.abort(new Error("closed"));
    await this.meshes.close();
    await this.#members.close();
    await this.#record.close();
  }

  /** True if there was something to tell. */
  #tellUndelivered(mesh: string, agent?: string): boolean {
    const agents = agent === undefined ? [...(this.meshes.declared().get(mesh)?.agents.keys() ?? [])] : [agent];
    const unheard = agents.filter((one) => this.#undelivered.delete(`${mesh}/${one}`));
    for (const one of unheard) setImmediate(() => this.meshes.meshes.get(mesh)?.tellAgain(one));
    return unheard.length > 0;
  }

  /** The agent that gave a task is told of its end by a message. A person sees successes, and is told of failures. */
  #ended({ type, data }: Extract<MeshFact, { type: "mesh.failed" | "mesh.completed" }>): void {
    const at = this.#clock.now() / 1000;
    const { mesh, agent, name } = data;
    const words = "why" in data ? data.why : data.gist;
    if (agent === null) this.#lastEnds.set(mesh, { task: name, failed: type === "mesh.failed", words, at });
    if (type === "mesh.completed") return;
    const worker = agent ?? this.meshes.declared().get(mesh)?.entry;
    const message = readMessage(new Queues(this.layout, { mesh, agent }), "complete", name);
    if (worker === undefined || !message || "reason" in message || message.header.from !== HUMAN) return;
    const text = `${addressName({ mesh, agent })} could not do “${titleOf(message.body)}”: ${words}`;
    this.#record.tellFailure({ mesh, agent, name }, worker, text);
  }

  lastEnd(mesh: string): MeshEnd | null {
    return this.#lastEnds.get(mesh) ?? null;
  }

  failuresOf(mesh: string): FailureView[] {
    return this.#record.failuresOf(mesh);
  }

  problems(): { file: string; problem: string }[] {
    const wrong = [...this.meshes.problems].map(([file, problem]) => ({ file, problem }));
    const missing = new Map<string, string>();
    for (const mesh of this.meshes.declared().values()) {
      for (const agent of mesh.agents.values()) {
        const problem = this.#members.problemOf(agent);
        const file = relative(this.layout.project, join(agent.dir, "config.json"));
        if (problem !== null) missing.set(file, `${file}: "options.program": ${problem}`);
      }
    }
    return [...wrong, ...[...missing].map(([file, problem]) => ({ file, problem }))];
  }

  #introduce(mesh: string): void {
    const declared = this.meshes.declared().get(mesh);
    if (!declared) return;
    const runs = [...declared.agents.values()].map((agent) => [agent.name, describedRun(agent)] as const);
    this.#record.introduce(mesh, new Map(runs));
  }

  #mesh(mesh: string): DeclaredMesh {
    const all = this.meshes.declared();
    const declared = all.get(mesh);
    if (declared) return declared;
    const names = [...all.keys()];
    const list = names.length > 0 ? `Choose from: ${names.join(", ")}.` : "None is declared in meshes/mesh-configs/.";
    throw new HumanRefusal("not_found", `There is no mesh "${mesh}".${didYouMean(mesh, names)} ${list}`);
  }

  #declared(mesh: string, agent: string): [DeclaredMesh, DeclaredAgent] {
    const declared = this.#mesh(mesh);
    const who = declared.agents.get(agent);
    if (!who) throw noAgent(declared, agent);
    return [declared, who];
  }
}

function noAgent({ config, agents }: DeclaredMesh, agent: string): HumanRefusal {
  const names = [...agents.keys()];
  const near = didYouMean(agent, names);
  return new HumanRefusal(
    "not_found",
    `There is no agent "${agent}" in ${config.mesh}.${near} Choose from: ${names.join(", ")}.`,
  );
}
