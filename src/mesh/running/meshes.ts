import { mkdirSync } from "node:fs";
import type { MeshFact } from "../../protocol/index.ts";
import { type FolderWatch, watchFolder } from "../../store/disk/watch-folder.ts";
import { MeshConfigError } from "../declaration/config-json.ts";
import { DeclarationWatcher } from "../declaration/declaration-watcher.ts";
import type { DeclaredAgent } from "../declaration/declared-agent.ts";
import { type DeclaredMesh, readDeclared, readMesh, refuseSharedSessions } from "../declaration/declared-mesh.ts";
import { declaredNames } from "../declaration/declared-names.ts";
import { type Layout, QUEUES, type QueueName } from "../files/layout.ts";
import { lockProject } from "../files/lock.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import { HeldMeshes } from "./held-meshes.ts";
import type { Member } from "./member.ts";
import { MemberRegistry } from "./member-registry.ts";
import type { Mesh } from "./mesh.ts";
import type { AgentsByMesh } from "./message-route.ts";
import { OpenMeshes } from "./open-meshes.ts";
import { clearTmp, refuseLinkedProject } from "./running-folder.ts";

export interface MeshesPorts {
  /** The home whose server runs them: shown to a second process that wants to. */
  home?: string;
  now(): number;
  record(fact: MeshFact): void;
  /** Makes the member for an agent; it is started by its first message. */
  member(mesh: DeclaredMesh, agent: DeclaredAgent): Member;
  /** Whether an earlier process has left it running. */
  isLeft?(mesh: DeclaredMesh, agent: DeclaredAgent): boolean;
  /** Whether a person trusts exactly this content: nothing of a mesh is started without it. */
  isTrusted(mesh: DeclaredMesh): boolean;
  gate(mesh: DeclaredMesh, name: string): Promise<string | null>;
  human(mesh: string, agent: string, message: MeshMessage): void;
}

/**
 * All running meshes of one project.
 *
 * MESHES-1. Declarations are read again whenever they change. If one is invalid, that is reported and the mesh
 *     continues as it was. A mesh that is no longer declared is closed; its files stay, and it continues where it was
 *     when it is declared again.
 * MESHES-2. An ephemeral mesh and one for a single task end with their work: their agents are dismissed. The files of
 *     an ephemeral one are put away, never erased; it starts fresh with the next message.
 * MESHES-3. One process at a time: a second one is refused (lock.ts).
 * MESHES-4. Nothing moves before all meshes are open: otherwise messages between meshes would have no recipient.
 * MESHES-5. Nothing of an untrusted mesh is started. A mesh that changes while it runs continues with the trusted
 *     content, in memory; the new content is held until it is trusted.
 */
export class Meshes {
  readonly layout: Layout;
  readonly #ports: MeshesPorts;
  readonly #registry: MemberRegistry;
  readonly #open: OpenMeshes;
  readonly #held: HeldMeshes;
  readonly #declarations: DeclarationWatcher;
  readonly #problems = new Map<string, string>();
  #folder: FolderWatch | undefined;
  #reloading: Promise<void> = Promise.resolve();
  #release: (() => void) | undefined;
  #isOpen = false;

  constructor(layout: Layout, ports: MeshesPorts) {
    this.layout = layout;
    this.#ports = ports;
    this.#registry = new MemberRegistry(ports.member);
    this.#held = new HeldMeshes(ports.isTrusted, ports.record);
    this.#declarations = new DeclarationWatcher(layout, () => void this.reloadSoon().catch(() => {}));
    this.#open = new OpenMeshes(layout, this.#registry, {
      ...ports,
      agentsByMesh: () => this.agentsByMesh(),
      onProblem: (error) => this.#problems.set(error.file, error.message),
    });
  }

  /** Those that are open, by name. */
  get meshes(): ReadonlyMap<string, Mesh> {
    return this.#open.meshes;
  }

  /** What is wrong with the declarations, by file. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Declarations that wait until a person trusts them. */
  get held(): ReadonlyMap<string, DeclaredMesh> {
    return this.#held.all;
  }

  async open(): Promise<void> {
    refuseLinkedProject(this.layout);
    this.#release = lockProject(this.layout, this.#ports.home);
    this.#isOpen = true;
    try {
      mkdirSync(this.layout.meshes, { recursive: true });
      clearTmp(this.layout);
      const { meshes, problems } = await readDeclared(this.layout);
      for (const problem of problems) this.#problems.set(problem.file, problem.message);
      const added = [...meshes.values()].flatMap((declared) => (this.#isHeld(declared) ? [] : this.#tryAdd(declared)));
      // An agent that was left running ends with the work of its mesh, as if it had been started here: MESHES-2.
      for (const { name, declared } of added) {
        for (const agent of declared.agents.values())
          if (this.#ports.isLeft?.(declared, agent)) this.#registry.member(declared, name, agent.name);
      }
      for (const mesh of added) mesh.begin();
      this.#folder = watchFolder(this.layout.meshes, (name) => this.#isOpen && this.#open.wakeIfMade(name));
      await this.#declarations.refresh();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#declarations.close();
    this.#folder?.close();
    await this.#reloading;
    await Promise.allSettled([...this.meshes.keys()].map((name) => this.#open.remove(name, "stopped")));
    this.#release?.();
  }

  /** Ends the session of an agent; the next message starts another. */
  async dismiss(mesh: string, agent: string): Promise<void> {
    await this.#registry.dismiss(mesh, agent);
  }

  /** A session died, or could not be told something: it is started again and told everything that it has not ended. */
  async tellAgain(mesh: string, agent: string): Promise<void> {
    await this.dismiss(mesh, agent).catch(() => {});
    this.meshes.get(mesh)?.tellAgain(agent);
  }

  /** All meshes: open, held, or between two tasks. */
  declared(): ReadonlyMap<string, DeclaredMesh> {
    const open = [...this.meshes.values()].map(({ declared }) => declared);
    const all = [...this.held.values(), ...this.#open.asleep.values(), ...open];
    const named = new Map(all.map((declared) => [declared.config.mesh, declared]));
    return new Map([...named].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  agentsByMesh(): AgentsByMesh {
    return new Map([...this.declared()].map(([name, { agents }]) => [name, [...agents.keys()]]));
  }

  /** How many messages are in each queue (seed 004, `getQueueStatus`). */
  getQueueStatus(mesh: string, agent: string | null = null): Record<QueueName, number> | undefined {
    const queues = this.#open.openQueues({ mesh, agent });
    const count = (queue: QueueName) => queues?.count(queue) ?? 0;
    return queues && (Object.fromEntries(QUEUES.map((queue) => [queue, count(queue)])) as Record<QueueName, number>);
  }

  /** Moves what has been complete for this many days to `archive/`, for the mesh and its agents. How many were moved. */
  archive(name: string, daysOld: number): number {
    const mesh = this.meshes.get(name);
    if (!mesh) return 0;
    // By the clock of the files. What came after the active task was begun may hold words that others are to read.
    const before = Math.min(
      Date.now() - daysOld * 24 * 3_600_000,
      mesh.queues.oldest("active") ?? Number.POSITIVE_INFINITY,
    );
    let moved = 0;
    for (const queues of [mesh.queues, ...mesh.agents.values()]) {
      for (const message of queues.before("complete", before)) {
        if (queues.move(message, "complete", "archive") !== undefined) moved++;
      }
    }
    return moved;
  }

  /** After the reloads that are under way. */
  reloadSoon(): Promise<void> {
    const reloaded = this.#reloading.then(() => this.reload());
    this.#reloading = reloaded.catch(() => {});
    return reloaded;
  }

  async reload(): Promise<void> {
    if (!this.#isOpen) return;
    const names = await declaredNames(this.layout);
    await this.#removeUndeclared(names);
    const problems = new Map<string, string>();
    for (const name of names) {
      try {
        const declared = readMesh(this.layout, name);
        if (!this.#isOpen) return;
        refuseSharedSessions(this.layout, declared, this.declared().values());
        this.#declare(declared);
      } catch (error) {
        if (!(error instanceof MeshConfigError)) throw error;
        problems.set(error.file, error.message);
        if (this.meshes.has(name) && this.#problems.get(error.file) !== error.message)
          this.#ports.record({ type: "mesh.reloaded", data: { mesh: name, problem: error.message } });
      }
    }
    this.#problems.clear();
    for (const [file, problem] of problems) this.#problems.set(file, problem);
    await this.#declarations.refresh();
  }

  /** Before anything new is declared: it may take the names of those that are gone. */
  async #removeUndeclared(names: readonly string[]): Promise<void> {
    for (const name of this.#open.asleep.keys()) if (!names.includes(name)) this.#open.asleep.delete(name);
    this.#held.keep(names);
    for (const name of [...this.meshes.keys()]) {
      if (!names.includes(name)) await this.#open.remove(name, "it is no longer declared");
    }
  }

  /** A person does not trust the mesh any more: everything that was started of it ends; its messages stay. Then reload. */
  async distrust(name: string): Promise<void> {
    this.#open.asleep.delete(name);
    await this.#open.remove(name, "it is no longer trusted");
  }

  /** The agents of a mesh are to be run in another way: the next task of each starts a new session. */
  outdate(name: string): void {
    for (const agent of this.meshes.get(name)?.declared.agents.keys() ?? []) this.#registry.outdate(name, agent);
  }

  /** MESHES-5. */
  #isHeld(declared: DeclaredMesh): boolean {
    return this.#held.holds(declared, this.#open.has(declared.config.mesh));
  }

  /** MESHES-1. */
  #declare(declared: DeclaredMesh): void {
    const { mesh: name } = declared.config;
    if (this.#isHeld(declared)) return;
    if (this.#open.asleep.has(name)) {
      this.#open.asleep.set(name, declared);
      return;
    }
    const known = this.meshes.get(name);
    if (!known) {
      this.#open.add(declared).begin();
      return;
    }
    if (known.declared.hash === declared.hash) return;
    this.#open.redeclare(known, declared);
    this.#ports.record({ type: "mesh.reloaded", data: { mesh: name, problem: null } });
  }

  /** Empty if its folders cannot be used; the reason is among the problems. */
  #tryAdd(declared: DeclaredMesh): Mesh[] {
    try {
      return [this.#open.add(declared)];
    } catch (error) {
      if (!(error instanceof MeshConfigError)) throw error;
      this.#problems.set(error.file, error.message);
      return [];
    }
  }
}
