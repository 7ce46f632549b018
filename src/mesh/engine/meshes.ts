import { existsSync, type FSWatcher, mkdirSync, watch } from "node:fs";
import type { MeshFact } from "../../protocol/index.ts";
import { DeclarationWatcher } from "../declaration/declaration-watcher.ts";
import {
  type DeclaredAgent,
  type DeclaredMesh,
  declaredNames,
  MeshConfigError,
  readDeclared,
  readMesh,
  refuseSharedSessions,
} from "../declaration/declared-mesh.ts";
import { type Layout, type Place, QUEUES, type QueueName } from "../files/layout.ts";
import { lockProject } from "../files/lock.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import { Queues } from "../files/queue.ts";
import { QueueWatcher } from "../files/watcher.ts";
import { HeldMeshes } from "./held-meshes.ts";
import type { Member } from "./member.ts";
import { MemberRegistry } from "./member-registry.ts";
import { Mesh } from "./mesh.ts";
import type { Directory } from "./route.ts";
import { clearTmp, makeFolders, putAway, refuseLinkedProject, refuseLinks, takeBack } from "./running-folder.ts";

export interface MeshesPorts {
  /** Whose server runs them: for whoever comes second. */
  home?: string;
  now(): number;
  record(fact: MeshFact): void;
  /** Begins with the first message for it. */
  member(mesh: DeclaredMesh, agent: DeclaredAgent): Member;
  /** Whether a process before this one has left it running. */
  isLeft?(mesh: DeclaredMesh, agent: DeclaredAgent): boolean;
  /** Whether a person trusts exactly this content: nothing of a mesh is begun without it. */
  isTrusted(mesh: DeclaredMesh): boolean;
  gate(mesh: DeclaredMesh, name: string): Promise<string | null>;
  human(mesh: string, agent: string, message: MeshMessage): void;
}

/**
 * All meshes of one project, at work.
 *
 * MESHES-1. What is declared is read again whenever it changes. What is wrong with it is said, and the mesh goes on as
 *     it was. A mesh that is declared no more is closed; its files stay, and it goes on where it was when it is
 *     declared again.
 * MESHES-2. An ephemeral mesh and one for a single task end with their work: their agents are let go. What an ephemeral
 *     one has left is put away, never erased; it begins anew with the next message.
 * MESHES-3. One process at a time: the second is refused (lock.ts).
 * MESHES-4. Nothing moves before all meshes are there: else what one says to another would be said to nobody.
 * MESHES-5. Nothing of a mesh is begun that is not trusted. One that changes while it works goes on with the content
 *     that was trusted, in memory; the new content is held until it is trusted.
 */
export class Meshes {
  readonly layout: Layout;
  readonly meshes = new Map<string, Mesh>();
  readonly #ports: MeshesPorts;
  readonly #registry: MemberRegistry;
  readonly #watchers = new Map<string, QueueWatcher>();
  readonly #declarations: DeclarationWatcher;
  readonly #problems = new Map<string, string>();
  /** Ephemeral meshes between two tasks. */
  readonly #asleep = new Map<string, DeclaredMesh>();
  /** MESHES-5. */
  readonly #held: HeldMeshes;
  #folder: FSWatcher | undefined;
  #reloading: Promise<void> = Promise.resolve();
  #release: (() => void) | undefined;
  #isOpen = false;

  constructor(layout: Layout, ports: MeshesPorts) {
    this.layout = layout;
    this.#ports = ports;
    this.#registry = new MemberRegistry(ports.member);
    this.#held = new HeldMeshes(ports.isTrusted, ports.record);
    this.#declarations = new DeclarationWatcher(layout, () => void this.reloadSoon().catch(() => {}));
  }

  /** What is wrong with what is declared, by file. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** What waits until a person trusts it. */
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
      // Whoever was left running ends with the work of its mesh, as if it had been begun here: MESHES-2.
      for (const { name, declared } of added) {
        for (const agent of declared.agents.values())
          if (this.#ports.isLeft?.(declared, agent)) this.#registry.member(declared, name, agent.name);
      }
      for (const mesh of added) mesh.begin();
      this.#folder = watch(this.layout.meshes, (_, name) => this.#wakeIfMade(name));
      this.#folder.on("error", () => {});
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
    await Promise.allSettled([...this.meshes.keys()].map((name) => this.#remove(name, "stopped")));
    this.#release?.();
  }

  /** Ends somebody's session; the next message begins another. */
  async dismiss(mesh: string, agent: string): Promise<void> {
    await this.#registry.dismiss(mesh, agent);
  }

  /** Somebody's session died, or could not be told: it is begun again and told all that it has not ended. */
  async tellAgain(mesh: string, agent: string): Promise<void> {
    await this.dismiss(mesh, agent).catch(() => {});
    this.meshes.get(mesh)?.tellAgain(agent);
  }

  /** All that are there, also those between two tasks. */
  declared(): ReadonlyMap<string, DeclaredMesh> {
    const begun = [...this.meshes.values()].map(({ declared }) => declared);
    const all = [...this.held.values(), ...this.#asleep.values(), ...begun];
    const named = new Map(all.map((declared) => [declared.config.mesh, declared]));
    return new Map([...named].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  directory(): Directory {
    return new Map([...this.declared()].map(([name, { agents }]) => [name, [...agents.keys()]]));
  }

  /** How many messages are in each queue (seed 004, `getQueueStatus`). */
  getQueueStatus(mesh: string, agent: string | null = null): Record<QueueName, number> | undefined {
    const queues = this.#openQueues({ mesh, agent });
    const count = (queue: QueueName) => queues?.count(queue) ?? 0;
    return queues && (Object.fromEntries(QUEUES.map((queue) => [queue, count(queue)])) as Record<QueueName, number>);
  }

  /** Moves what has been complete for so many days to `archive/`, for the mesh and its agents. How many were moved. */
  archive(name: string, daysOld: number): number {
    const mesh = this.meshes.get(name);
    if (!mesh) return 0;
    // By the clock of the files. What came since the task that is under way was begun may be words that others are to read.
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

  /** After those that are under way. */
  reloadSoon(): Promise<void> {
    const reloaded = this.#reloading.then(() => this.reload());
    this.#reloading = reloaded.catch(() => {});
    return reloaded;
  }

  async reload(): Promise<void> {
    if (!this.#isOpen) return;
    const names = await declaredNames(this.layout);
    // First: whoever comes may take their names.
    for (const name of this.#asleep.keys()) if (!names.includes(name)) this.#asleep.delete(name);
    this.#held.keep(names);
    for (const name of [...this.meshes.keys()]) {
      if (!names.includes(name)) await this.#remove(name, "it is not declared any more");
    }
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

  /** MESHES-5. */
  #isHeld(declared: DeclaredMesh): boolean {
    const { mesh } = declared.config;
    return this.#held.holds(declared, this.meshes.has(mesh) || this.#asleep.has(mesh));
  }

  /** A person does not trust it any more: all that was begun of it ends; its messages stay. */
  async distrust(name: string): Promise<void> {
    this.#asleep.delete(name);
    await this.#remove(name, "it is not trusted any more");
    await this.reloadSoon();
  }

  /** How its agents are run is another now: the next task of each is for a new one. */
  outdate(name: string): void {
    for (const agent of this.meshes.get(name)?.declared.agents.keys() ?? []) this.#registry.outdate(name, agent);
  }

  /** MESHES-1. */
  #declare(declared: DeclaredMesh): void {
    const { mesh: name } = declared.config;
    if (this.#isHeld(declared)) return;
    if (this.#asleep.has(name)) {
      this.#asleep.set(name, declared);
      return;
    }
    const known = this.meshes.get(name);
    if (!known) {
      this.#add(declared).begin();
      return;
    }
    const before = known.declared;
    const changed = [...declared.agents.values()].filter((agent) => !isSame(agent, before.agents.get(agent.name)));
    const gone = [...before.agents.keys()].filter((agent) => !declared.agents.has(agent));
    if (before.hash === declared.hash) return;
    for (const { name: agent } of changed) this.#registry.outdate(name, agent);
    for (const agent of gone) {
      this.#watchers.get(`${name}/${agent}`)?.close();
      this.#watchers.delete(`${name}/${agent}`);
      void this.dismiss(name, agent).catch(() => {});
    }
    makeFolders(this.layout, declared);
    known.redeclare(declared);
    this.#watchQueues(known);
    this.#ports.record({ type: "mesh.reloaded", data: { mesh: name, problem: null } });
  }

  /** None where its folders cannot be used; why is among the problems. */
  #tryAdd(declared: DeclaredMesh): Mesh[] {
    try {
      return [this.#add(declared)];
    } catch (error) {
      if (!(error instanceof MeshConfigError)) throw error;
      this.#problems.set(error.file, error.message);
      return [];
    }
  }

  #add(declared: DeclaredMesh): Mesh {
    const { mesh: name } = declared.config;
    refuseLinks(this.layout, declared);
    const mesh: Mesh = new Mesh(declared, this.layout, {
      now: this.#ports.now,
      record: this.#ports.record,
      tell: (agent, message) => this.#registry.tell(mesh.declared, name, agent, message),
      gate: (gate) => this.#ports.gate(mesh.declared, gate),
      human: (agent, message) => this.#ports.human(name, agent, message),
      directory: () => this.directory(),
      queuesOf: (other, agent) => this.#queuesOf({ mesh: other, agent }),
      // Later: whoever moves its own messages now is not interrupted.
      changed: (other) => queueMicrotask(() => this.meshes.get(other)?.settle()),
      idle: () => this.#endSoon(mesh),
    });
    makeFolders(this.layout, declared);
    this.meshes.set(name, mesh);
    const { topology, agents } = declared;
    const opened = { mesh: name, project: this.layout.project, topology, agents: [...agents.keys()] };
    this.#ports.record({ type: "mesh.opened", data: opened });
    this.#watchQueues(mesh);
    mesh.open();
    return mesh;
  }

  async #remove(name: string, why: string): Promise<void> {
    const mesh = this.meshes.get(name);
    if (!mesh) return;
    this.#shut(mesh);
    await Promise.allSettled([...mesh.declared.agents.keys()].map((agent) => this.dismiss(name, agent)));
    this.#ports.record({ type: "mesh.closed", data: { mesh: name, why } });
  }

  #shut(mesh: Mesh): void {
    this.meshes.delete(mesh.name);
    mesh.close();
    for (const agent of ["", ...mesh.declared.agents.keys()]) {
      this.#watchers.get(`${mesh.name}/${agent}`)?.close();
      this.#watchers.delete(`${mesh.name}/${agent}`);
    }
  }

  #watchQueues(mesh: Mesh): void {
    for (const agent of [null, ...mesh.declared.agents.keys()]) {
      const key = `${mesh.name}/${agent ?? ""}`;
      if (this.#watchers.has(key)) continue;
      const changed = (queue: QueueName, name: string) => mesh.noticed(agent, queue, name);
      const dir = this.layout.messages({ mesh: mesh.name, agent });
      this.#watchers.set(key, new QueueWatcher(dir, { changed, look: () => mesh.look() }));
    }
  }

  #openQueues({ mesh, agent }: Place): Queues | undefined {
    const there = this.meshes.get(mesh);
    return agent === null ? there?.queues : there?.agents.get(agent);
  }

  /** Also of a mesh that sleeps, or whose declaration is broken just now: a message can wait in its folder. */
  #queuesOf(place: Place): Queues | undefined {
    const asleep = this.#asleep.get(place.mesh);
    if (asleep) this.#wake(asleep);
    const there = this.#openQueues(place);
    if (there || !existsSync(this.layout.messages(place))) return there;
    const queues = new Queues(this.layout, place);
    queues.open();
    return queues;
  }

  /** MESHES-2. Later: whoever moves its messages now is not interrupted. */
  #endSoon(mesh: Mesh): void {
    if (mesh.declared.lifetime === "persistent") return;
    setImmediate(() => void this.#endIfOver(mesh).catch(() => {}));
  }

  async #endIfOver(mesh: Mesh): Promise<void> {
    const { name, declared } = mesh;
    if (this.meshes.get(name) !== mesh || !mesh.isIdle) return;
    const isEphemeral = declared.lifetime === "ephemeral";
    const members = this.#registry.of(declared);
    if (!isEphemeral && members.length === 0) return;
    await Promise.allSettled(members.map((agent) => this.dismiss(name, agent)));
    if (this.meshes.get(name) !== mesh) return;
    if (isEphemeral && !this.#putToSleep(mesh)) return;
    const why = `${declared.lifetime}: its work is done`;
    this.#ports.record({ type: "mesh.closed", data: { mesh: name, why } });
  }

  /** False when something has come meanwhile. */
  #putToSleep(mesh: Mesh): boolean {
    const { young } = mesh.look();
    if (young || !mesh.isIdle || this.meshes.get(mesh.name) !== mesh) return false;
    this.#shut(mesh);
    this.#asleep.set(mesh.name, mesh.declared);
    const away = putAway(this.layout, mesh.name, this.#ports.now());
    // What came in the instant before has its mesh begin again.
    if (takeBack(this.layout, mesh.declared, away)) this.#wake(mesh.declared);
    return true;
  }

  #wakeIfMade(name: string | null): void {
    const asleep = name === null ? undefined : this.#asleep.get(name);
    if (asleep && this.#isOpen && existsSync(this.layout.mesh(asleep.config.mesh))) this.#wake(asleep);
  }

  #wake(declared: DeclaredMesh): void {
    this.#asleep.delete(declared.config.mesh);
    for (const mesh of this.#tryAdd(declared)) queueMicrotask(() => mesh.begin());
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
