import type { z } from "zod";
import type {
  AgentDetail,
  agentSummarySchema,
  agentsPageSchema,
  CreateAgent,
  configStandingSchema,
  createTriggerSchema,
  ErrorBody,
  filesPageSchema,
  inboxItemSchema,
  listedFileSchema,
  MeshProjectView,
  memoryFoundSchema,
  meshLetterSchema,
  meshProjectsPageSchema,
  meshQueuesSchema,
  meshResultsSchema,
  modelsPageSchema,
  nodeDetailSchema,
  peoplePageSchema,
} from "../../../src/protocol/api.ts";
import type { Fact, StoredEntry } from "../../../src/protocol/index.ts";
import { size } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { isFact, isRecord } from "./frames.ts";
import { tidyFact, tidyProject } from "./tidy.ts";

/** A refusal in the server's own words. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** What is wrong with which field of what was sent. */
  readonly fields: Readonly<Record<string, string>>;
  /** The server's name for it. */
  readonly code: string;
  constructor(status: number, message: string, fields: Readonly<Record<string, string>> = {}, code = "") {
    super(message);
    this.status = status;
    this.fields = fields;
    this.code = code;
  }
}

export type AgentSummary = z.infer<typeof agentSummarySchema>;
export type Models = z.infer<typeof modelsPageSchema>;
export type ListedModel = Models["models"][number];
export type InboxItem = z.infer<typeof inboxItemSchema>;
export type FileItem = z.infer<typeof listedFileSchema>;
export type Person = z.infer<typeof peoplePageSchema>["workers"][number];
export type NodeDetail = z.infer<typeof nodeDetailSchema>;
export type MemorySearch = z.infer<typeof memoryFoundSchema>;
export type MemoryHit = MemorySearch["results"][number];

export type { MeshProjectView, MeshView } from "../../../src/protocol/api.ts";
export type MeshQueues = z.infer<typeof meshQueuesSchema>;
export type MeshPlace = MeshQueues["places"][number];
export type MeshQueueName = keyof MeshPlace["queues"];
export type MeshResults = z.infer<typeof meshResultsSchema>;
export type MeshLetter = z.infer<typeof meshLetterSchema>;

/** All of them, also those that are put away. */
export async function listAgents(): Promise<z.infer<typeof agentsPageSchema>> {
  const page = await get<z.infer<typeof agentsPageSchema>>("/agents?limit=1000&archived=all");
  const agents = listIn(page, "agents").map(({ trouble, ...agent }) => ({
    ...named(agent),
    trouble: trouble && { ...trouble, worker_name: visible(trouble.worker_name) },
  }));
  return { ...page, agents, unreadable: page.unreadable ?? [] };
}

export async function listInbox(): Promise<InboxItem[]> {
  const items = listIn(await get<{ items: InboxItem[] }>("/inbox?limit=1000"), "items");
  return items.map((item) => ({ ...item, agent: named(item.agent), from: named(item.from) }));
}

/** Everybody of all teams, as far as they can be found by name. */
export async function listPeople(): Promise<Person[]> {
  const people = listIn(await get<z.infer<typeof peoplePageSchema>>("/workers?limit=1000"), "workers");
  return people.map((person) => ({ ...named(person), agent: named(person.agent) }));
}

function named<T extends { name: string }>(one: T): T {
  return { ...one, name: visible(one.name) };
}

export const listModels = () => get<Models>("/models?limit=1000");
export const configStanding = () => get<z.infer<typeof configStandingSchema>>("/config");
export const createAgent = (order: CreateAgent) => post<AgentSummary>("/agents", order);
export const removeAgent = (id: string) => call<unknown>("DELETE", `/agents/${id}`);
export const restoreAgent = (id: string) => post<unknown>(`/agents/${id}/restore`, {});
export const steer = (id: string, how: "pause" | "stop") => post<unknown>(`/agents/${id}/${how}`, {});
export const resume = (id: string, budget: { budget_usd?: number; budget_tokens?: number } = {}) =>
  post<unknown>(`/agents/${id}/resume`, budget);
export const send = (id: string, to: string, message: string) => post<unknown>(`/agents/${id}/send`, { message, to });
export const nudge = (id: string, message: string) => post<unknown>(`/agents/${id}/nudge`, { message });
export const respond = (id: string, question_id: string, response: string) =>
  post<unknown>(`/agents/${id}/respond`, { response, question_id });
export const createTrigger = (id: string, order: z.input<typeof createTriggerSchema>) =>
  post<unknown>(`/agents/${id}/triggers`, order);
export const cancelTrigger = (id: string, trigger: string) =>
  call<unknown>("DELETE", `/agents/${id}/triggers/${trigger}`);
/** One message alone. */
export const dismiss = (id: string, message_id: string) => post<unknown>(`/agents/${id}/seen`, { message_id });
/** What this one said; everything if nobody is named. */
export const markSeen = (id: string, from?: string) =>
  post<unknown>(`/agents/${id}/seen`, from === undefined ? {} : { from });

/** Projects with meshes, those that are at work with all that is known of them. */
export async function listMeshes(): Promise<MeshProjectView[]> {
  const page = await get<z.infer<typeof meshProjectsPageSchema>>("/meshes?limit=1000");
  // One that cannot be read must not take the others, and the agents, out of sight; nor is its record an agent then.
  return Promise.all(
    listIn(page, "projects").map((project) =>
      meshProject(project.id).catch((error: unknown) =>
        tidyProject({ ...project, meshes: [], problems: [unread(error)] }),
      ),
    ),
  );
}

function unread(error: unknown): MeshProjectView["problems"][number] {
  return { file: "", problem: error instanceof Error ? error.message : String(error) };
}

export async function meshProject(id: string): Promise<MeshProjectView> {
  return tidyProject(await get<MeshProjectView>(`/meshes/${id}`));
}
export const meshQueues = (id: string, mesh: string) => get<MeshQueues>(`/meshes/${id}/${mesh}/queues?limit=50`);
export const meshResults = (id: string, mesh: string) => get<MeshResults>(`/meshes/${id}/${mesh}/results`);
export const meshFileAddress = (id: string, mesh: string, path: string) =>
  `/meshes/${id}/${mesh}/output/${path.split("/").map(encodeURIComponent).join("/")}`;
export const meshLetter = (id: string, mesh: string, agent: string | null, queue: string, name: string) =>
  get<MeshLetter>(
    `/meshes/${id}/${mesh}/messages/${queue}/${encodeURIComponent(name)}${agent === null ? "" : `?agent=${agent}`}`,
  );
export const sendToMesh = (
  id: string,
  mesh: string,
  order: { to: string | null; type: "task" | "ask"; text: string },
) => post<{ name: string }>(`/meshes/${id}/${mesh}/messages`, order);
export const trustMesh = (id: string, mesh: string, agreed: { hash: string; terminals: boolean; by: "page" }) =>
  post<unknown>(`/meshes/${id}/${mesh}/trust`, agreed);
export const untrustMesh = (id: string, mesh: string) => post<unknown>(`/meshes/${id}/${mesh}/untrust`, {});
export const stopMeshes = (id: string) => post<unknown>(`/meshes/${id}/stop`, {});
export const startMeshes = (project: string) => post<unknown>("/meshes", { project });
export const steerMember = (id: string, mesh: string, agent: string, how: "spawn" | "kill") =>
  post<unknown>(`/meshes/${id}/${mesh}/agents/${agent}/${how}`, {});

export async function eventsAfter(id: string, after: number, limit: number): Promise<Fact[]> {
  const page = await get<{ events: Fact[] }>(`/agents/${id}/events?after=${after}&limit=${limit}`);
  return listIn(page, "events").filter(isFact).map(tidyFact);
}

/** Newest last. */
export async function entriesOf(id: string, worker: string, before?: number): Promise<StoredEntry[]> {
  const query = before === undefined ? "" : `&before=${before}`;
  const path = `/agents/${id}/workers/${encodeURIComponent(worker)}/conversation?limit=60${query}`;
  return listIn(await get<{ entries: StoredEntry[] }>(path), "entries");
}

export type Shelf = "workspace" | "memory";

/** All files below, in one list, and whether there are more than anybody lists. */
export async function filesIn(id: string, shelf: Shelf): Promise<{ files: FileItem[]; isCut: boolean }> {
  const all: FileItem[] = [];
  for (let after = ""; ; ) {
    const query = `?recursive=true&limit=1000${after && `&after=${encodeURIComponent(after)}`}`;
    const page = await get<FilesPage>(`${fileAddress(id, shelf, "")}${query}`);
    all.push(...listIn(page, "entries"));
    if (page.next_after === null || all.length >= MOST_FILES)
      return { files: all, isCut: page.truncated || page.next_after !== null };
    after = page.next_after;
  }
}

/** How an agent is doing, with the results of its last run. */
export const agentDetail = (id: string) => get<AgentDetail>(`/agents/${id}`);

/** What lies in the output folder of a run; where nothing does, the words it ended with. */
export async function filesOfRun(id: string, run: string): Promise<FileItem[]> {
  const list = async (path: string) =>
    listIn(
      await get<FilesPage>(`${fileAddress(id, "workspace", path)}?recursive=${path !== top}&limit=1000`),
      "entries",
    );
  const top = `runs/${run}`;
  const found = await list(top);
  const hasOutput = found.some(({ path, kind }) => kind === "folder" && path === `${top}/output`);
  const output = hasOutput ? (await list(`${top}/output`)).filter(({ kind }) => kind === "file") : [];
  return output.length > 0 ? output : found.filter(({ path }) => path === `${top}/_output.md`);
}

const MOST_FILES = 20_000;
type FilesPage = z.infer<typeof filesPageSchema>;

export const nodeDetail = (id: string, node: string) => get<NodeDetail>(`/agents/${id}/board/${node}`);

/** The first of a file, as text; null for one that is not text. */
export async function textOfFile(address: string, most: number): Promise<FileText> {
  const response = await reach(address, { headers: { range: `bytes=0-${most - 1}` } });
  if (!response.ok) throw await errorIn(response);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const total = Number(response.headers.get("content-range")?.split("/")[1] ?? bytes.length);
  const isText = !bytes.subarray(0, 8000).includes(0);
  return { text: isText ? new TextDecoder().decode(bytes) : null, bytes: total, isCut: total > bytes.length };
}

export interface FileText {
  text: string | null;
  bytes: number;
  isCut: boolean;
}

export function searchMemory(id: string, query: string): Promise<MemorySearch> {
  return post<MemorySearch>(`/agents/${id}/memory/search`, { query });
}

export async function cancelNode(id: string, node: string, reason: string): Promise<string> {
  const body = reason === "" ? {} : { reason };
  return (await post<{ detail: string }>(`/agents/${id}/board/${encodeURIComponent(node)}/cancel`, body)).detail;
}

export function fileAddress(id: string, shelf: Shelf, path: string): string {
  const tail = path.split("/").map(encodeURIComponent).join("/");
  return `/agents/${id}/${shelf}${tail === "" ? "" : `/${tail}`}`;
}

const get = <T>(path: string) => call<T>("GET", path);
const post = <T>(path: string, body: unknown) => call<T>("POST", path, body);

/** The browser's own words ("Failed to fetch") tell nobody what to do. */
async function reach(address: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(address, options);
  } catch {
    throw new ApiError(0, "The server does not answer. Is agiraph serve still running?");
  }
}

export async function pictureAt(address: string, type: string, most: number): Promise<Blob> {
  const response = await reach(address, {});
  if (!response.ok) throw await errorIn(response);
  const bytes = Number(response.headers.get("content-length") ?? 0);
  if (bytes > most) {
    await response.body?.cancel();
    throw new Error(`The picture has ${size(bytes)}, too much to show here. Download it to look at it.`);
  }
  return new Blob([await response.arrayBuffer()], { type });
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await reach(path, { method, ...sent });
  if (!response.ok) throw await errorIn(response);
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError(response.status, `${ODD} It sent no JSON for ${path.split("?")[0]}.`);
  }
}

const ODD = "Something else than Agiraph answers here, or something between it and this page.";

/** A list that an answer must have. */
function listIn<K extends string, T>(answer: Record<K, T[]>, name: K): T[] {
  const list: unknown = isRecord(answer) ? answer[name] : undefined;
  if (!Array.isArray(list)) throw new ApiError(200, `${ODD} There is no ${name} in what it sent.`);
  return list as T[];
}

async function errorIn(response: Response): Promise<ApiError> {
  if (response.status === 401) lockedOut();
  const said: unknown = await response.json().catch(() => null);
  const error = isRecord(said) && isRecord(said.error) ? (said.error as Partial<ErrorBody["error"]>) : {};
  const message = typeof error.message === "string" ? error.message : `The server answered ${response.status}.`;
  const details = Array.isArray(error.details) ? error.details : [];
  const fields = Object.fromEntries(details.map(({ field, problem }) => [field, problem]));
  return new ApiError(response.status, message, fields, typeof error.code === "string" ? error.code : "");
}

let lockedOut = () => {};

/** What is to be done when the server does not know this browser any more. */
export function whenLockedOut(run: () => void): void {
  lockedOut = run;
}

/**
 * The token buys a one-time link, and the link the page's cookie; the token itself is kept nowhere. The page is not loaded
 * anew: what was begun in it goes on.
 */
export async function logIn(token: string): Promise<void> {
  // What no header can carry (a copied "…") would be said to be the server's silence.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new ApiError(401, "The token is wrong.");
  const bought = await reach("/login", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  if (!bought.ok) throw await errorIn(bought);
  const { url } = (await bought.json()) as { url: string };
  if (new URL(url).origin !== location.origin) {
    location.assign(url);
    return;
  }
  const redeemed = await reach(url, { redirect: "manual" });
  if (redeemed.type !== "opaqueredirect") throw await errorIn(redeemed);
  // As when the network is back: every connection is tried at once.
  window.dispatchEvent(new Event("online"));
}
