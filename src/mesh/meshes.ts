import { type FSWatcher, mkdirSync, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { MeshFact } from "../protocol/index.ts";
import { type DeclaredAgent, type DeclaredMesh, MeshConfigError, readDeclared, readMesh } from "./config.ts";
import type { Layout, QueueName } from "./layout.ts";
import type { Letter } from "./letter.ts";
import { Mesh } from "./mesh.ts";
import type { Directory } from "./route.ts";
import { QueueWatcher } from "./watcher.ts";

/** Who does what a mesh agent is given: a program in tmux, one without a terminal, a model in our loop. */
export interface Member {
  /** Resolves when it has the letter before its eyes. A letter that it has already is not told again. */
  tell(letter: Letter): Promise<void>;
  /** Ends it, and leaves nothing running. */
  close(): Promise<void>;
}

export interface MeshesPorts {
  now(): number;
  record(fact: MeshFact): void;
  /** Begins with the first letter for it. */
  member(mesh: DeclaredMesh, agent: DeclaredAgent): Member;
  gate(mesh: DeclaredMesh, name: string): Promise<string | null>;
  human(mesh: string, agent: string, letter: Letter): void;
}

/**
 * All meshes of one project, at work.
 *
 * X1. What is declared is read again whenever it changes. What is wrong with it is said, and the mesh goes on as it was.
 * X2. An ephemeral mesh and one for a single task end with their work: their agents are let go.
 */
export class Meshes {
  readonly layout: Layout;
  readonly meshes = new Map<string, Mesh>();
  readonly #ports: MeshesPorts;
  readonly #members = new Map<string, Member>();
  readonly #watchers = new Map<string, QueueWatcher>();
  readonly #declarations: FSWatcher[] = [];
  readonly #problems = new Map<string, string>();
  #reloading: Promise<void> | undefined;
  #isOpen = true;

  constructor(layout: Layout, ports: MeshesPorts) {
    this.layout = layout;
    this.#ports = ports;
  }

  /** What is wrong with what is declared, by file. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  async open(): Promise<void> {
    mkdirSync(this.layout.meshes, { recursive: true });
    const { meshes, problems } = await readDeclared(this.layout);
    for (const problem of problems) this.#problems.set(problem.file, problem.message);
    for (const declared of meshes.values()) this.#add(declared);
    await this.#watchDeclarations();
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    for (const watcher of [...this.#declarations, ...this.#watchers.values()]) watcher.close();
    await this.#reloading;
    await Promise.allSettled([...this.#members.values()].map((member) => member.close()));
    for (const name of this.meshes.keys())
      this.#ports.record({ type: "mesh.closed", data: { mesh: name, why: "stopped" } });
  }

  /** Somebody's session is there again, or was let go. */
  async dismiss(mesh: string, agent: string): Promise<void> {
    const key = `${mesh}/${agent}`;
    const member = this.#members.get(key);
    this.#members.delete(key);
    await member?.close();
  }

  directory(): Directory {
    return new Map([...this.meshes].map(([name, mesh]) => [name, [...mesh.declared.agents.keys()]]));
  }

  #add(declared: DeclaredMesh): void {
    const { mesh: name } = declared.config;
    const mesh = new Mesh(declared, this.layout, {
      now: this.#ports.now,
      record: (fact) => {
        this.#ports.record(fact);
        if (fact.type === "mesh.completed" && fact.data.agent === null)
          queueMicrotask(() => void this.#endIfOver(name));
      },
      tell: (agent, letter) => this.#member(name, agent).tell(letter),
      gate: (gate) => this.#ports.gate(this.meshes.get(name)?.declared ?? declared, gate),
      human: (agent, letter) => this.#ports.human(name, agent, letter),
      directory: () => this.directory(),
      queuesOf: (other, agent) => {
        const there = this.meshes.get(other);
        return agent === null ? there?.queues : there?.agents.get(agent);
      },
      // Later: whoever moves its own messages now is not interrupted.
      changed: (other) => queueMicrotask(() => this.meshes.get(other)?.settle()),
    });
    this.meshes.set(name, mesh);
    const { topology, agents } = declared;
    const opened = { mesh: name, project: this.layout.project, topology, agents: [...agents.keys()] };
    this.#ports.record({ type: "mesh.opened", data: opened });
    this.#watchQueues(mesh);
    mesh.open();
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

  #member(mesh: string, agent: string): Member {
    const key = `${mesh}/${agent}`;
    const there = this.#members.get(key);
    if (there) return there;
    const declared = this.meshes.get(mesh)?.declared;
    const who = declared?.agents.get(agent);
    if (!declared || !who) throw new Error(`${key} is not declared.`);
    const member = this.#ports.member(declared, who);
    this.#members.set(key, member);
    return member;
  }

  async #endIfOver(name: string): Promise<void> {
    const mesh = this.meshes.get(name);
    if (!mesh || mesh.declared.lifetime === "persistent" || !mesh.isIdle) return;
    for (const agent of mesh.declared.agents.keys()) await this.dismiss(name, agent);
    this.#ports.record({
      type: "mesh.closed",
      data: { mesh: name, why: `${mesh.declared.lifetime}: its work is done` },
    });
  }

  async #watchDeclarations(): Promise<void> {
    const dirs = [this.layout.configs, this.layout.agents, ...(await foldersBelow(this.layout.agents, 2))];
    for (const dir of dirs) {
      try {
        const watcher = watch(dir, () => this.#reloadSoon());
        watcher.on("error", () => {});
        this.#declarations.push(watcher);
      } catch {
        // Not there: a project without it declares nothing in it.
      }
    }
  }

  #timer: NodeJS.Timeout | undefined;

  /** An editor makes several events of one save. */
  #reloadSoon(): void {
    if (!this.#isOpen || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#reloading = (this.#reloading ?? Promise.resolve()).then(() => this.reload()).catch(() => {});
    }, 100);
    this.#timer.unref();
  }

  async reload(): Promise<void> {
    if (!this.#isOpen) return;
    this.#problems.clear();
    for (const name of await names(this.layout.configs)) {
      const known = this.meshes.get(name);
      try {
        const declared = await readMesh(this.layout, name);
        if (!this.#isOpen) return;
        if (!known) this.#add(declared);
        else if (
          JSON.stringify(known.declared.config) !== JSON.stringify(declared.config) ||
          !sameAgents(known.declared, declared)
        ) {
          known.redeclare(declared);
          this.#watchQueues(known);
          this.#ports.record({ type: "mesh.reloaded", data: { mesh: name, problem: null } });
        }
      } catch (error) {
        if (!(error instanceof MeshConfigError)) throw error;
        this.#problems.set(error.file, error.message);
        if (known) this.#ports.record({ type: "mesh.reloaded", data: { mesh: name, problem: error.message } });
      }
    }
  }
}

function sameAgents(a: DeclaredMesh, b: DeclaredMesh): boolean {
  return JSON.stringify([...a.agents.values()]) === JSON.stringify([...b.agents.values()]);
}

async function names(dir: string): Promise<string[]> {
  const found = await readdir(dir).catch(() => []);
  return found.filter((name) => name.endsWith(".json") && !name.startsWith(".")).map((name) => name.slice(0, -5));
}

async function foldersBelow(dir: string, depth: number): Promise<string[]> {
  if (depth === 0) return [];
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const own = entries.filter((entry) => entry.isDirectory()).map((entry) => join(dir, entry.name));
  const below = await Promise.all(own.map((folder) => foldersBelow(folder, depth - 1)));
  return [...own, ...below.flat()];
}
