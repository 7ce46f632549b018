import { existsSync } from "node:fs";
import type { MeshFact } from "../../protocol/index.ts";
import { MeshConfigError } from "../declaration/config-json.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import type { Layout, MeshAddress, QueueName } from "../files/layout.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import { Queues } from "../files/queue.ts";
import { QueueWatcher } from "../files/watcher.ts";
import type { MemberRegistry } from "./member-registry.ts";
import { Mesh } from "./mesh.ts";
import type { AgentsByMesh } from "./message-route.ts";
import { makeFolders, putAway, refuseLinks, takeBack } from "./running-folder.ts";

export interface OpenMeshesPorts {
  now(): number;
  record(fact: MeshFact): void;
  gate(mesh: DeclaredMesh, name: string): Promise<string | null>;
  human(mesh: string, agent: string, message: MeshMessage): void;
  agentsByMesh(): AgentsByMesh;
  /** The folders of a mesh that is to wake cannot be used. */
  onProblem(error: MeshConfigError): void;
}

/**
 * The open meshes of a project, each with the watchers of its queues, and the ephemeral ones that are asleep: between
 * two tasks, with their folder put away.
 */
export class OpenMeshes {
  readonly meshes = new Map<string, Mesh>();
  readonly asleep = new Map<string, DeclaredMesh>();
  readonly #layout: Layout;
  readonly #registry: MemberRegistry;
  readonly #ports: OpenMeshesPorts;
  /** By `mesh/agent`; the mesh's own as `mesh/`. */
  readonly #watchers = new Map<string, QueueWatcher>();

  constructor(layout: Layout, registry: MemberRegistry, ports: OpenMeshesPorts) {
    this.#layout = layout;
    this.#registry = registry;
    this.#ports = ports;
  }

  has(name: string): boolean {
    return this.meshes.has(name) || this.asleep.has(name);
  }

  /** Opens a mesh; nothing in it moves before it is begun. Throws MeshConfigError if its folders cannot be used. */
  add(declared: DeclaredMesh): Mesh {
    const { mesh: name } = declared.config;
    refuseLinks(this.#layout, declared);
    const mesh: Mesh = new Mesh(declared, this.#layout, {
      now: this.#ports.now,
      record: this.#ports.record,
      tell: (agent, message) => this.#registry.tell(mesh.declared, name, agent, message),
      gate: (gate) => this.#ports.gate(mesh.declared, gate),
      human: (agent, message) => this.#ports.human(name, agent, message),
      agentsByMesh: () => this.#ports.agentsByMesh(),
      queuesOf: (other, agent) => this.#queuesOf({ mesh: other, agent }),
      // Later, so that a mesh that is moving its own messages now is not interrupted.
      changed: (other) => queueMicrotask(() => this.meshes.get(other)?.moveAll()),
      idle: () => this.#endSoon(mesh),
    });
    makeFolders(this.#layout, declared);
    this.meshes.set(name, mesh);
    const { topology, agents } = declared;
    const opened = { mesh: name, project: this.#layout.project, topology, agents: [...agents.keys()] };
    this.#ports.record({ type: "mesh.opened", data: opened });
    this.#watchQueues(mesh);
    mesh.open();
    return mesh;
  }

  /** The mesh is declared otherwise now. Throws MeshConfigError if the folders of an added agent cannot be used. */
  redeclare(mesh: Mesh, declared: DeclaredMesh): void {
    refuseLinks(this.#layout, declared);
    const before = mesh.declared.agents;
    const changed = [...declared.agents.values()].filter((agent) => !isSame(agent, before.get(agent.name)));
    const gone = [...before.keys()].filter((agent) => !declared.agents.has(agent));
    for (const agent of changed) this.#registry.outdate(mesh.name, agent.name);
    for (const agent of gone) {
      this.#unwatch(mesh.name, agent);
      void this.#registry.dismiss(mesh.name, agent).catch(() => {});
    }
    makeFolders(this.#layout, declared);
    mesh.redeclare(declared);
    this.#watchQueues(mesh);
  }

  async remove(name: string, why: string): Promise<void> {
    const mesh = this.meshes.get(name);
    if (!mesh) return;
    this.#close(mesh);
    await Promise.allSettled([...mesh.declared.agents.keys()].map((agent) => this.#registry.dismiss(name, agent)));
    this.#ports.record({ type: "mesh.closed", data: { mesh: name, why } });
  }

  /** The queues of a mesh that is open. */
  openQueues({ mesh, agent }: MeshAddress): Queues | undefined {
    const open = this.meshes.get(mesh);
    return agent === null ? open?.queues : open?.agents.get(agent);
  }

  /** Something was made under this name in the folder of all meshes: a message for a mesh that is asleep. */
  wakeIfMade(name: string | null): void {
    const asleep = [...this.asleep.values()].filter(({ config }) => name === null || config.mesh === name);
    for (const one of asleep) if (existsSync(this.#layout.mesh(one.config.mesh))) this.#wake(one);
  }

  /** Also of a mesh that is asleep, or whose declaration is broken at the moment: a message can wait in its folder. */
  #queuesOf(address: MeshAddress): Queues | undefined {
    const asleep = this.asleep.get(address.mesh);
    if (asleep) this.#wake(asleep);
    const open = this.openQueues(address);
    if (open || !existsSync(this.#layout.messages(address))) return open;
    const queues = new Queues(this.#layout, address);
    queues.open();
    return queues;
  }

  #watchQueues(mesh: Mesh): void {
    for (const agent of [null, ...mesh.declared.agents.keys()]) {
      const key = `${mesh.name}/${agent ?? ""}`;
      if (this.#watchers.has(key)) continue;
      const changed = (queue: QueueName, name: string) => mesh.noticed(agent, queue, name);
      const dir = this.#layout.messages({ mesh: mesh.name, agent });
      this.#watchers.set(key, new QueueWatcher(dir, { changed, look: () => mesh.look() }));
    }
  }

  #unwatch(mesh: string, agent: string): void {
    const key = `${mesh}/${agent}`;
    this.#watchers.get(key)?.close();
    this.#watchers.delete(key);
  }

  #close(mesh: Mesh): void {
    this.meshes.delete(mesh.name);
    mesh.close();
    for (const agent of ["", ...mesh.declared.agents.keys()]) this.#unwatch(mesh.name, agent);
  }

  /** MESHES-2. Later, so that a mesh that is moving its messages now is not interrupted. */
  #endSoon(mesh: Mesh): void {
    if (mesh.declared.lifetime === "persistent") return;
    setImmediate(() => void this.#endIfOver(mesh).catch(() => {}));
  }

  async #endIfOver(mesh: Mesh): Promise<void> {
    const { name, declared } = mesh;
    if (this.meshes.get(name) !== mesh || !mesh.isIdle) return;
    const isEphemeral = declared.lifetime === "ephemeral";
    const members = this.#registry.startedOf(declared);
    if (!isEphemeral && members.length === 0) return;
    await Promise.allSettled(members.map((agent) => this.#registry.dismiss(name, agent)));
    if (this.meshes.get(name) !== mesh) return;
    if (isEphemeral && !this.#putToSleep(mesh)) return;
    const why = `${declared.lifetime}: its work is done`;
    this.#ports.record({ type: "mesh.closed", data: { mesh: name, why } });
  }

  /** False if a message has come meanwhile. */
  #putToSleep(mesh: Mesh): boolean {
    const { young } = mesh.look();
    if (young || !mesh.isIdle || this.meshes.get(mesh.name) !== mesh) return false;
    // First: if its folder cannot be put away (a full disk), the mesh stays open, and hears what comes.
    mesh.writeState();
    const away = putAway(this.#layout, mesh.name, this.#ports.now());
    this.#close(mesh);
    this.asleep.set(mesh.name, mesh.declared);
    // A message that came in the last moment wakes the mesh again.
    if (takeBack(this.#layout, mesh.declared, away)) this.#wake(mesh.declared);
    return true;
  }

  #wake(declared: DeclaredMesh): void {
    this.asleep.delete(declared.config.mesh);
    try {
      const mesh = this.add(declared);
      queueMicrotask(() => mesh.begin());
    } catch (error) {
      if (!(error instanceof MeshConfigError)) throw error;
      this.#ports.onProblem(error);
    }
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
