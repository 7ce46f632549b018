import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MeshConfig, MeshFact, MessageHeader } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { Layout, type MeshAddress, QUEUES, type QueueName } from "../files/layout.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import { format } from "../files/message-file.ts";
import { Meshes } from "../running/meshes.ts";

/** A message of a scripted agent, as a file in its outbox. */
export type Say = (
  to: string,
  type: MessageHeader["type"],
  body: string,
  more?: Partial<MessageHeader> & { name?: string },
) => void;

/** What an agent does when it gets a message. */
export type Script = (message: MeshMessage, say: Say) => void | Promise<void>;

export interface ScriptedOptions {
  configs: MeshConfig[];
  /** By `mesh/agent`, or by the agent's name alone. One without a script ends each task with its own name. */
  agents?: Record<string, Script>;
  gates?: Record<string, () => Promise<string | null>>;
  /** Which contents a person trusts; all of them if left out. */
  isTrusted?: (mesh: DeclaredMesh) => boolean;
}

/** A project in a temporary folder whose mesh agents do what their scripts say. */
export class ScriptedProject {
  readonly dir = mkdtempSync(join(tmpdir(), "mesh-"));
  readonly layout = new Layout(this.dir);
  readonly facts: MeshFact[] = [];
  /** What was told, as `agent: type name`. */
  readonly told: string[] = [];
  readonly heard: { agent: string; message: MeshMessage }[] = [];
  readonly closed: string[] = [];
  readonly toHuman: MeshMessage[] = [];
  meshes: Meshes;
  readonly #options: ScriptedOptions;
  readonly #waiting: { until: (fact: MeshFact) => boolean; resolve: (fact: MeshFact) => void }[] = [];
  #count = 0;

  constructor(options: ScriptedOptions) {
    this.#options = options;
    for (const config of options.configs) this.declare(config);
    for (const gate of Object.keys(options.gates ?? {})) this.write(`meshes/gates/${gate}.sh`, "#!/bin/sh\n");
    this.meshes = this.#made();
  }

  static async open(options: ScriptedOptions): Promise<ScriptedProject> {
    const project = new ScriptedProject(options);
    await project.meshes.open();
    return project;
  }

  /** Ends this life and begins another over the same files. */
  async reopen(): Promise<void> {
    await this.meshes.close();
    this.meshes = this.#made();
    await this.meshes.open();
  }

  async close(): Promise<void> {
    await this.meshes.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  declare(config: MeshConfig): void {
    for (const member of config.agents) {
      this.write(`meshes/agents/${member}/config.json`, JSON.stringify({ name: member.split("/").at(-1) }));
    }
    this.write(`meshes/mesh-configs/${config.mesh}.json`, JSON.stringify(config));
  }

  /** A file of the project, as a whole. */
  write(path: string, text: string): void {
    const file = join(this.dir, path);
    mkdirSync(join(file, ".."), { recursive: true });
    const aside = join(this.dir, `aside-${++this.#count}`);
    writeFileSync(aside, text);
    renameSync(aside, file);
  }

  /** Renames a message into a queue, as a person or a program would. */
  put(address: MeshAddress, queue: QueueName, name: string, text: string): void {
    const aside = join(this.dir, `aside-${++this.#count}.md`);
    writeFileSync(aside, text);
    renameSync(aside, join(this.layout.queue(address, queue), name));
  }

  send(mesh: string, name: string, body: string, more: Partial<MessageHeader> = {}): void {
    const header: MessageHeader = { from: "human", to: mesh, type: "task", status: "pending", ...more };
    this.put({ mesh, agent: null }, "inbox", name, format(header, body));
  }

  /** By hand. */
  move(address: MeshAddress, name: string, from: QueueName, to: QueueName): void {
    renameSync(join(this.layout.queue(address, from), name), join(this.layout.queue(address, to), name));
  }

  until(matches: (fact: MeshFact) => boolean): Promise<MeshFact> {
    const there = this.facts.find(matches);
    if (there) return Promise.resolve(there);
    return this.next(matches);
  }

  /** From now on. */
  next(matches: (fact: MeshFact) => boolean): Promise<MeshFact> {
    return new Promise((resolve) => this.#waiting.push({ until: matches, resolve }));
  }

  /** What is in the queues of an address, those without anything left out. */
  queues(mesh: string, agent: string | null = null): Partial<Record<QueueName, string[]>> {
    return Object.fromEntries(
      QUEUES.flatMap((queue) => {
        const found = readdirSync(this.layout.queue({ mesh, agent }, queue)).toSorted();
        return found.length > 0 ? [[queue, found]] : [];
      }),
    );
  }

  #made(): Meshes {
    return new Meshes(this.layout, {
      now: () => Date.parse("2026-01-02T03:04:05Z"),
      record: (fact) => {
        this.facts.push(fact);
        for (const one of this.#waiting.filter(({ until }) => until(fact))) {
          this.#waiting.splice(this.#waiting.indexOf(one), 1);
          one.resolve(fact);
        }
      },
      member: (mesh, agent) => this.#member({ mesh: mesh.config.mesh, agent: agent.name }),
      isTrusted: (mesh) => this.#options.isTrusted?.(mesh) ?? true,
      gate: async (_, name) => (await this.#options.gates?.[name]?.()) ?? null,
      human: (_mesh, _agent, message) => this.toHuman.push(message),
    });
  }

  #member(address: { mesh: string; agent: string }) {
    const own = `${address.mesh}/${address.agent}`;
    const say: Say = (to, type, body, { name, ...more } = {}) => {
      const header: MessageHeader = { from: own, to, type, status: "pending", ...more };
      this.put(address, "outbox", name ?? `${++this.#count}-${to.replace("/", "-")}.md`, format(header, body));
    };
    const script =
      this.#options.agents?.[own] ??
      this.#options.agents?.[address.agent] ??
      ((message: MeshMessage) => {
        if (message.header.type === "task") say("mesh", "task-complete", `${address.agent}\n`);
      });
    return {
      tell: async (message: MeshMessage) => {
        this.told.push(`${address.agent}: ${message.header.type} ${message.name}`);
        this.heard.push({ agent: address.agent, message });
        await script(message, say);
      },
      close: async () => {
        this.closed.push(own);
      },
    };
  }
}

/** The end of a mesh's task, or of an agent's. */
export function isEndOf(mesh: string, agent: string | null = null, name?: string): (fact: MeshFact) => boolean {
  return (fact) =>
    (fact.type === "mesh.completed" || fact.type === "mesh.failed") &&
    fact.data.mesh === mesh &&
    fact.data.agent === agent &&
    (name === undefined || fact.data.name === name);
}
