import type { z } from "zod";
import { withoutRedirects } from "../boundary/without-redirects.ts";
import {
  type AgentDetail,
  type AgentSummary,
  agentDetailSchema,
  agentSummarySchema,
  agentsPageSchema,
  archivedMeshSchema,
  boardPageSchema,
  type CreateAgent,
  configStandingSchema,
  conversationPageSchema,
  type DeltaFrame,
  deliveredSchema,
  deltaFrameSchema,
  errorBodySchema,
  eventsPageSchema,
  filesPageSchema,
  inboxPageSchema,
  loginLinkSchema,
  memoryFoundSchema,
  meshLetterSchema,
  meshProjectSchema,
  meshProjectsPageSchema,
  meshQueuesSchema,
  meshResultsSchema,
  meshViewSchema,
  modelsPageSchema,
  nodeDetailSchema,
  permissionsPageSchema,
  questionsPageSchema,
  type resumeSchema,
  type sendMeshMessageSchema,
  sentMeshMessageSchema,
  triggersPageSchema,
  type trustMeshSchema,
  type updateNodeSchema,
  workersPageSchema,
} from "../protocol/api.ts";

/** The server refused. `code` and `details` are for programs, the message is for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly details: readonly { field: string; problem: string }[];

  constructor(status: number, code: string, message: string, details: ApiError["details"] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Nobody answered, or the connection broke: whether it was done is not known. */
export class UnreachableServer extends Error {
  override readonly name = "UnreachableServer";
}

export interface ClientOptions {
  /** Of the server; empty in a page of its own. */
  url: string;
  /** A page that has logged in needs none. */
  token?: string;
  fetch?: typeof globalThis.fetch;
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** The API with its types, for programs and for the page: every answer is checked with the server's own schemas. */
export class ApiClient {
  readonly url: string;
  readonly #token: string | undefined;
  readonly #fetch: typeof globalThis.fetch;

  constructor({ url, token, fetch = globalThis.fetch }: ClientOptions) {
    this.url = url;
    this.#token = token;
    this.#fetch = withoutRedirects(fetch, "the server's address");
  }

  create(order: CreateAgent): Promise<AgentSummary> {
    return this.#ask("POST", "/agents", agentSummarySchema, {}, order);
  }

  agents(query: Query = {}) {
    return this.#ask("GET", "/agents", agentsPageSchema, query);
  }

  agent(id: string): Promise<AgentDetail> {
    return this.#ask("GET", at(id), agentDetailSchema);
  }

  /** Stops it and puts it out of sight. */
  archive(id: string): Promise<AgentSummary> {
    return this.#ask("DELETE", at(id), agentSummarySchema);
  }

  steer(id: string, deed: "stop" | "pause" | "restore"): Promise<AgentSummary> {
    return this.#ask("POST", `${at(id)}/${deed}`, agentSummarySchema);
  }

  resume(id: string, more: NonNullable<z.input<typeof resumeSchema>> = {}) {
    return this.#ask("POST", `${at(id)}/resume`, agentSummarySchema, {}, more);
  }

  send(id: string, message: string, to?: string) {
    return this.#ask("POST", `${at(id)}/send`, deliveredSchema, {}, { message, ...(to !== undefined && { to }) });
  }

  nudge(id: string, message: string) {
    return this.#ask("POST", `${at(id)}/nudge`, deliveredSchema, {}, { message });
  }

  respond(id: string, response: string, question_id?: string) {
    const body = { response, ...(question_id !== undefined && { question_id }) };
    return this.#ask("POST", `${at(id)}/respond`, deliveredSchema, {}, body);
  }

  permissions(id: string) {
    return this.#ask("GET", `${at(id)}/permissions`, permissionsPageSchema);
  }

  revoke(id: string, key: string) {
    return this.#ask("POST", `${at(id)}/permissions/revoke`, deliveredSchema, {}, { key });
  }

  assign(id: string, node: string, worker: string) {
    return this.#ask("POST", `${at(id)}/board/${encodeURIComponent(node)}/assign`, deliveredSchema, {}, { worker });
  }

  cancel(id: string, node: string, reason?: string) {
    const body = reason === undefined ? {} : { reason };
    return this.#ask("POST", `${at(id)}/board/${encodeURIComponent(node)}/cancel`, deliveredSchema, {}, body);
  }

  updateNode(id: string, node: string, change: z.input<typeof updateNodeSchema>) {
    return this.#ask("PATCH", `${at(id)}/board/${encodeURIComponent(node)}`, deliveredSchema, {}, change);
  }

  publish(id: string, node: string, summary?: string) {
    const body = summary === undefined ? {} : { summary };
    return this.#ask("POST", `${at(id)}/board/${encodeURIComponent(node)}/publish`, deliveredSchema, {}, body);
  }

  /** What was said to the human is seen: by one of the team, one message, or everything. */
  seen(id: string, what: { from?: string; message_id?: string } = {}) {
    return this.#ask("POST", `${at(id)}/seen`, deliveredSchema, {}, what);
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

  /** Streamed words from now on, for as long as the connection holds. Returns what ends it. */
  onDelta(id: string, after: number, listener: (delta: DeltaFrame, after: number) => void): () => void {
    // A page that has logged in is known by its cookie.
    const key = this.#token === undefined ? [] : [`bearer.${this.#token}`];
    const socket = new WebSocket(`${this.url.replace(/^http/, "ws")}${at(id)}/events?after=${after}`, [
      "agiraph",
      ...key,
    ]);
    let seq = after;
    socket.addEventListener("message", ({ data }) => {
      if (typeof data !== "string") return;
      // Most frames are facts, which are had elsewhere: of them only the number is needed.
      seq = Number(/^\{"seq":(\d+),/.exec(data)?.[1] ?? seq);
      if (!data.startsWith('{"type":"delta"')) return;
      const frame = deltaFrameSchema.safeParse(JSON.parse(data));
      if (frame.success) listener(frame.data, seq);
    });
    // Without them only the streaming is missing.
    socket.addEventListener("error", () => {});
    return () => socket.close();
  }

  inbox(query: Query = {}) {
    return this.#ask("GET", "/inbox", inboxPageSchema, query);
  }

  startMeshes(project: string) {
    return this.#ask("POST", "/meshes", meshProjectSchema, {}, { project });
  }

  meshProjects(query: Query = {}) {
    return this.#ask("GET", "/meshes", meshProjectsPageSchema, query);
  }

  meshProject(id: string) {
    return this.#ask("GET", `/meshes/${encodeURIComponent(id)}`, meshProjectSchema);
  }

  stopMeshes(id: string) {
    return this.#ask("POST", `/meshes/${encodeURIComponent(id)}/stop`, meshProjectSchema);
  }

  meshQueues(id: string, mesh: string, query: Query = {}) {
    return this.#ask("GET", `${inMesh(id, mesh)}/queues`, meshQueuesSchema, query);
  }

  meshResults(id: string, mesh: string) {
    return this.#ask("GET", `${inMesh(id, mesh)}/results`, meshResultsSchema);
  }

  meshMessage(id: string, mesh: string, queue: string, name: string, query: Query = {}) {
    const path = `${inMesh(id, mesh)}/messages/${encodeURIComponent(queue)}/${encodeURIComponent(name)}`;
    return this.#ask("GET", path, meshLetterSchema, query);
  }

  sendToMesh(id: string, mesh: string, message: z.input<typeof sendMeshMessageSchema>) {
    return this.#ask("POST", `${inMesh(id, mesh)}/messages`, sentMeshMessageSchema, {}, message);
  }

  trustMesh(id: string, mesh: string, agreed: z.input<typeof trustMeshSchema>) {
    return this.#ask("POST", `${inMesh(id, mesh)}/trust`, meshViewSchema, {}, agreed);
  }

  untrustMesh(id: string, mesh: string) {
    return this.#ask("POST", `${inMesh(id, mesh)}/untrust`, meshViewSchema);
  }

  archiveMesh(id: string, mesh: string, days: number) {
    return this.#ask("POST", `${inMesh(id, mesh)}/archive`, archivedMeshSchema, {}, { days });
  }

  steerMeshAgent(id: string, mesh: string, agent: string, deed: "spawn" | "kill") {
    const path = `${inMesh(id, mesh)}/agents/${encodeURIComponent(agent)}/${deed}`;
    return this.#ask("POST", path, meshViewSchema);
  }

  config() {
    return this.#ask("GET", "/config", configStandingSchema);
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
    const given = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
    const search = given.size > 0 ? `?${given}` : "";
    const asked = this.#fetch(`${this.url}${path}${search}`, {
      method,
      headers: {
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await asked.catch((error: unknown) => {
      const where = this.url && ` at ${this.url}`;
      throw new UnreachableServer(`The server${where} cannot be reached: ${whyNot(error)}.`, { cause: error });
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.ok) return schema.parse(answer);
    const refusal = errorBodySchema.safeParse(answer).data?.error;
    throw new ApiError(
      response.status,
      refusal?.code ?? "unexpected",
      refusal?.message ?? `The server answered with ${response.status}.`,
      refusal?.details,
    );
  }
}

/** The system's own words, which `fetch` keeps below its own. */
function whyNot(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message.replace(/\.$/, "") : String(cause);
}

function at(id: string): string {
  return `/agents/${encodeURIComponent(id)}`;
}

function inMesh(id: string, mesh: string): string {
  return `/meshes/${encodeURIComponent(id)}/${encodeURIComponent(mesh)}`;
}
