import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { ApiClient } from "../../src/client/client.ts";
import { Layout } from "../../src/mesh/files/layout.ts";
import type { Catalog } from "../../src/models/catalog/catalog.ts";
import type { CommandArgs } from "../../src/protocol/commands.ts";
import type { Config } from "../../src/protocol/config.ts";
import type { AgentId, Fact, MeshAgentConfig, MeshConfig, MeshFact } from "../../src/protocol/index.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { buildServer } from "../../src/server/server.ts";
import { type ScriptedModel, trustMeshes } from "../../src/testing/index.ts";
import { TOKEN } from "../../src/testing/start-server.ts";

export interface HousePlan {
  meshes: readonly MeshConfig[];
  /** What each agent is, by its short name; the others are Claude Code. */
  agents?: Readonly<Record<string, Omit<MeshAgentConfig, "name"> & { prompt?: string }>>;
  gates?: Readonly<Record<string, string>>;
  /** Who thinks, by `provider/model`. */
  minds?: Readonly<Record<string, ScriptedModel>>;
  config?: Config;
  env?: Readonly<Record<string, string>>;
}

/** A project with meshes and a server that hosts them, on a real port, over a home of its own. */
export class MeshHouse implements AsyncDisposable {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "tx-")));
  readonly project = join(this.dir, "project");
  readonly home = join(this.dir, "home");
  readonly layout = new Layout(this.project);
  readonly #plan: HousePlan;
  runtime!: Runtime;
  api!: ApiClient;
  #app!: FastifyInstance;
  /** The record of the project. */
  id!: AgentId;

  constructor(plan: HousePlan) {
    this.#plan = plan;
    mkdirSync(this.home);
    mkdirSync(this.layout.configs, { recursive: true });
    for (const config of plan.meshes) {
      writeFileSync(join(this.layout.configs, `${config.mesh}.json`), JSON.stringify(config));
      for (const member of config.agents) this.#declare(member);
    }
    mkdirSync(this.layout.gates, { recursive: true });
    for (const [gate, script] of Object.entries(plan.gates ?? {}))
      writeFileSync(join(this.layout.gates, `${gate}.sh`), script);
  }

  #declare(member: string): void {
    const name = member.slice(member.indexOf("/") + 1);
    const { prompt, ...config } = this.#plan.agents?.[name] ?? {};
    const dir = join(this.layout.agents, member);
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "config.json"), JSON.stringify({ name, ...config }));
    writeFileSync(join(dir, "prompt.md"), prompt ?? `You are {{agent}} of {{mesh}}.\n`);
  }

  /** Serves the home. */
  async open(): Promise<this> {
    const { config = {}, env = { PATH: process.env.PATH ?? "" }, minds } = this.#plan;
    const settings = { home: this.home, env, config };
    this.runtime = await openRuntime(settings, minds ? { catalog: catalogOf(minds) } : {});
    this.#app = await buildServer({ runtime: this.runtime, settings, token: TOKEN });
    await this.#app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = this.#app.server.address() as { port: number };
    this.api = new ApiClient({ url: `http://127.0.0.1:${port}`, token: TOKEN });
    return this;
  }

  /** As a person who has looked at everything that is declared now agrees to it. */
  async trust(options: { terminals?: boolean } = {}): Promise<void> {
    await trustMeshes(this.home, this.project, options);
  }

  /** A person trusts what is declared, terminals included, and starts it. */
  async start(): Promise<this> {
    await this.trust();
    return this.startAsIs();
  }

  async startAsIs(): Promise<this> {
    const { id } = await this.api.give({ do: "start_meshes", project: this.project });
    this.id = id as AgentId;
    return this;
  }

  send(mesh: string, message: Omit<CommandArgs<"send_to_mesh">, "id" | "mesh">) {
    return this.api.give({ do: "send_to_mesh", id: this.id, mesh, ...message });
  }

  spawn(mesh: string, agent: string) {
    return this.api.give({ do: "spawn_mesh_agent", id: this.id, mesh, agent });
  }

  kill(mesh: string, agent: string) {
    return this.api.give({ do: "kill_mesh_agent", id: this.id, mesh, agent });
  }

  /** As a server that was stopped and started: what was at work goes on. */
  async restart(): Promise<void> {
    await this.close();
    await this.open();
    await this.#app.agents.takeUp((_, error) => {
      throw error;
    });
  }

  /** Resolves with the first fact, of all there were and will be, for which this holds. */
  async until(isIt: (fact: Fact) => boolean): Promise<Fact> {
    const { log } = await this.runtime.agent(this.id);
    for await (const fact of log.follow(0, new AbortController().signal)) if (isIt(fact)) return fact;
    throw new Error("The log has ended.");
  }

  completed(mesh: string): Promise<Fact> {
    return this.until(({ type, data }) => type === "mesh.completed" && data.mesh === mesh && data.agent === null);
  }

  async facts<T extends MeshFact["type"]>(...types: T[]): Promise<Extract<MeshFact, { type: T }>["data"][]> {
    const { log } = await this.runtime.agent(this.id);
    const facts = await log.read({ after: 0, limit: 10_000 });
    return facts.filter(({ type }) => types.includes(type as T)).map(({ data }) => data) as never;
  }

  /** The files of somebody's queues. */
  queues(mesh: string, agent: string | null = null): Record<string, string[]> {
    const dir = this.layout.messages({ mesh, agent });
    const filled = readdirSync(dir).map((queue) => [queue, readdirSync(join(dir, queue)).toSorted()] as const);
    return Object.fromEntries(filled.filter(([, names]) => names.length > 0));
  }

  read(mesh: string, agent: string | null, queue: "complete" | "inbox", name: string): string {
    return readFileSync(join(this.layout.queue({ mesh, agent }, queue), name), "utf8");
  }

  async close(): Promise<void> {
    await this.#app.close();
    await this.runtime.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const mesh of this.#plan.meshes) {
      for (const member of mesh.agents) {
        const agent = member.slice(member.indexOf("/") + 1);
        await this.kill(mesh.mesh, agent).catch(() => {});
      }
    }
    await this.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function catalogOf(minds: Readonly<Record<string, ScriptedModel>>): Catalog {
  return {
    async model(id) {
      const mind = minds[id];
      if (!mind) throw new Error(`There is no mind ${id}.`);
      return mind;
    },
    list: async () => [],
    programOf: () => undefined,
    chooseDefault: async () => ({ model: "none", why: "scripted" }),
    cost: async () => 0,
    resolve: (id) => ({ id, contextWindow: 200_000, searchesWeb: false, note: null }),
  };
}
