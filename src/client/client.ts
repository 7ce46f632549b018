import type { z } from "zod";
import {
  type AgentDetail,
  agentDetailSchema,
  agentsPageSchema,
  copySchema,
  triggersPageSchema,
} from "../protocol/api/agents.ts";
import { eventsPageSchema } from "../protocol/api/events.ts";
import { filesPageSchema, memoryFoundSchema } from "../protocol/api/files.ts";
import { drainedSchema, hostsPageSchema } from "../protocol/api/hosts.ts";
import {
  meshProjectSchema,
  meshProjectsPageSchema,
  meshQueuesSchema,
  meshResultsSchema,
  wholeMessageSchema,
} from "../protocol/api/meshes.ts";
import { configStateSchema, loginLinkSchema, modelsPageSchema } from "../protocol/api/server.ts";
import {
  conversationPageSchema,
  inboxPageSchema,
  permissionsPageSchema,
  questionsPageSchema,
} from "../protocol/api/speech.ts";
import { boardPageSchema, nodeDetailSchema, workersPageSchema } from "../protocol/api/work.ts";
import { type CommandName, type CommandOf, type CommandResult, commands } from "../protocol/commands.ts";
import { followAgent, type Onlooker } from "./follow.ts";
import { giveCommand } from "./give-command.ts";
import { type Query, Transport, type TransportOptions } from "./transport.ts";

export type { Onlooker } from "./follow.ts";
export { ApiError, UnreachableServer } from "./transport.ts";

/** A typed client of the API, for programs and the page: every response is checked with the server's own schemas. */
export class ApiClient {
  readonly #transport: Transport;

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
  }

  get url(): string {
    return this.#transport.url;
  }

  /** Resolves when what was asked is on disk. */
  async give<C extends CommandName>(command: CommandOf<C>): Promise<CommandResult<C>> {
    const answer = await giveCommand(this.#transport, command);
    return commands[command.do as C].result.parse(answer) as CommandResult<C>;
  }

  agents(query: Query = {}) {
    return this.#ask("GET", "/agents", agentsPageSchema, query);
  }

  agent(id: string): Promise<AgentDetail> {
    return this.#ask("GET", at(id), agentDetailSchema);
  }

  /** To a server that works from an engine: its home has the agent's files as they are now. */
  copy(id: string) {
    return this.#ask("POST", `/copies/${encodeURIComponent(id)}`, copySchema);
  }

  permissions(id: string) {
    return this.#ask("GET", `${at(id)}/permissions`, permissionsPageSchema);
  }

  questions(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/questions`, questionsPageSchema, query);
  }

  conversation(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/conversation`, conversationPageSchema, query);
  }

  board(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/board`, boardPageSchema, query);
  }

  node(id: string, node: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/board/${encodeURIComponent(node)}`, nodeDetailSchema, query);
  }

  workers(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/workers`, workersPageSchema, query);
  }

  files(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/workspace`, filesPageSchema, query);
  }

  searchMemory(id: string, query: string, limit?: number) {
    return this.#ask("POST", `${at(id)}/memory/search`, memoryFoundSchema, {}, { query, ...(limit && { limit }) });
  }

  triggers(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/triggers`, triggersPageSchema, query);
  }

  /** After a number; without one the newest, oldest of them first. */
  events(id: string, query: Query = {}) {
    return this.#ask("GET", `${at(id)}/events`, eventsPageSchema, query);
  }

  /** What happens to an agent after a fact, and what is said, for as long as the connection holds. */
  follow(id: string, after: number, onlooker: Onlooker, signal: AbortSignal): Promise<void> {
    return followAgent(this.#transport, { id, after }, onlooker, signal);
  }

  /** Of a server that works from an engine: the machines that do. */
  hosts() {
    return this.#ask("GET", "/hosts", hostsPageSchema);
  }

  drainHost(host: string, { undo = false }: { undo?: boolean } = {}) {
    return this.#ask("POST", `/hosts/${encodeURIComponent(host)}/drain`, drainedSchema, {}, { undo });
  }

  inbox(query: Query = {}) {
    return this.#ask("GET", "/inbox", inboxPageSchema, query);
  }

  meshProjects(query: Query = {}) {
    return this.#ask("GET", "/meshes", meshProjectsPageSchema, query);
  }

  meshProject(id: string) {
    return this.#ask("GET", `/meshes/${encodeURIComponent(id)}`, meshProjectSchema);
  }

  meshQueues(id: string, mesh: string, query: Query = {}) {
    return this.#ask("GET", `${inMesh(id, mesh)}/queues`, meshQueuesSchema, query);
  }

  meshResults(id: string, mesh: string) {
    return this.#ask("GET", `${inMesh(id, mesh)}/results`, meshResultsSchema);
  }

  meshMessage(id: string, mesh: string, queue: string, name: string, query: Query = {}) {
    const path = `${inMesh(id, mesh)}/messages/${encodeURIComponent(queue)}/${encodeURIComponent(name)}`;
    return this.#ask("GET", path, wholeMessageSchema, query);
  }

  config() {
    return this.#ask("GET", "/config", configStateSchema);
  }

  models(query: Query = {}) {
    return this.#ask("GET", "/models", modelsPageSchema, query);
  }

  loginLink() {
    return this.#ask("POST", "/login", loginLinkSchema);
  }

  async #ask<S extends z.ZodType>(
    method: string,
    path: string,
    schema: S,
    query: Query = {},
    body?: unknown,
  ): Promise<z.output<S>> {
    return schema.parse(await this.#transport.ask(method, path, { query, ...(body !== undefined && { body }) }));
  }
}

function at(id: string): string {
  return `/agents/${encodeURIComponent(id)}`;
}

function inMesh(id: string, mesh: string): string {
  return `/meshes/${encodeURIComponent(id)}/${encodeURIComponent(mesh)}`;
}
