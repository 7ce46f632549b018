import type { z } from "zod";
import { giveCommand } from "../../../src/client/give-command.ts";
import { ApiError, NOT_AGIRAPH, refusalIn, Transport, UnreachableServer } from "../../../src/client/transport.ts";
import type { AgentDetail, agentSummarySchema, agentsPageSchema } from "../../../src/protocol/api/agents.ts";
import type { filesPageSchema, listedFileSchema, memoryFoundSchema } from "../../../src/protocol/api/files.ts";
import type {
  MeshProjectView,
  meshProjectsPageSchema,
  meshQueuesSchema,
  meshResultsSchema,
  wholeMessageSchema,
} from "../../../src/protocol/api/meshes.ts";
import type { configStateSchema, modelsPageSchema } from "../../../src/protocol/api/server.ts";
import type { inboxItemSchema } from "../../../src/protocol/api/speech.ts";
import type { listedWorkersPageSchema, nodeDetailSchema } from "../../../src/protocol/api/work.ts";
import type { CommandName, CommandOf, CommandResult } from "../../../src/protocol/commands.ts";
import type { Fact, StoredEntry } from "../../../src/protocol/index.ts";
import { size } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { isFact, isRecord } from "./event-frames.ts";
import { tidyFact, tidyProject } from "./tidy.ts";

export { ApiError } from "../../../src/client/transport.ts";

export type AgentSummary = z.infer<typeof agentSummarySchema>;
export type Models = z.infer<typeof modelsPageSchema>;
export type ListedModel = Models["models"][number];
export type InboxItem = z.infer<typeof inboxItemSchema>;
export type FileItem = z.infer<typeof listedFileSchema>;
export type ListedWorker = z.infer<typeof listedWorkersPageSchema>["workers"][number];
export type NodeDetail = z.infer<typeof nodeDetailSchema>;
export type MemorySearch = z.infer<typeof memoryFoundSchema>;
export type MemoryHit = MemorySearch["results"][number];

export type { MeshProjectView, MeshView } from "../../../src/protocol/api/meshes.ts";
export type MeshQueues = z.infer<typeof meshQueuesSchema>;
export type QueueOwner = MeshQueues["places"][number];
export type MeshQueueName = keyof QueueOwner["queues"];
export type MeshResults = z.infer<typeof meshResultsSchema>;
export type MeshMessage = z.infer<typeof wholeMessageSchema>;

/** All agents, including archived ones. */
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

/** The workers of all agents, for searching by name. */
export async function listWorkers(): Promise<ListedWorker[]> {
  const workers = listIn(await get<z.infer<typeof listedWorkersPageSchema>>("/workers?limit=1000"), "workers");
  return workers.map((worker) => ({ ...named(worker), agent: named(worker.agent) }));
}

function named<T extends { name: string }>(one: T): T {
  return { ...one, name: visible(one.name) };
}

export const listModels = () => get<Models>("/models?limit=1000");
export const configState = () => get<z.infer<typeof configStateSchema>>("/config");

/** Gives a command, as `protocol/commands.ts` has it. */
export function give<C extends CommandName>(command: CommandOf<C>): Promise<CommandResult<C>> {
  return heard(giveCommand(server, command));
}

/** Projects with meshes; running ones with all details. */
export async function listMeshes(): Promise<MeshProjectView[]> {
  const page = await get<z.infer<typeof meshProjectsPageSchema>>("/meshes?limit=1000");
  // One that cannot be read must not take the others, and the agents, out of sight; nor is its record an agent then.
  return Promise.all(
    listIn(page, "projects").map((project) =>
      meshProject(project.id).catch((error: unknown) =>
        tidyProject({ ...project, meshes: [], problems: [problemOf(error)] }),
      ),
    ),
  );
}

function problemOf(error: unknown): MeshProjectView["problems"][number] {
  return { file: "", problem: error instanceof Error ? error.message : String(error) };
}

export async function meshProject(id: string): Promise<MeshProjectView> {
  return tidyProject(await get<MeshProjectView>(`/meshes/${id}`));
}
export const meshQueues = (id: string, mesh: string) => get<MeshQueues>(`/meshes/${id}/${mesh}/queues?limit=50`);
export const meshResults = (id: string, mesh: string) => get<MeshResults>(`/meshes/${id}/${mesh}/results`);
export const meshFileAddress = (id: string, mesh: string, path: string) =>
  `/meshes/${id}/${mesh}/output/${path.split("/").map(encodeURIComponent).join("/")}`;
export const meshMessage = (id: string, mesh: string, agent: string | null, queue: string, name: string) =>
  get<MeshMessage>(
    `/meshes/${id}/${mesh}/messages/${queue}/${encodeURIComponent(name)}${agent === null ? "" : `?agent=${agent}`}`,
  );

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

/** All files below, in one list, and whether there are more than are listed. */
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

/** The files in the output folder of a run; without any, the text with which it ended. */
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

/** The beginning of a file, as text; null if it is not text. */
export async function textOfFile(address: string, most: number): Promise<LoadedText> {
  const response = await reach(address, { headers: { range: `bytes=0-${most - 1}` } });
  if (!response.ok) throw await errorIn(response);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const total = Number(response.headers.get("content-range")?.split("/")[1] ?? bytes.length);
  const isText = !bytes.subarray(0, 8000).includes(0);
  const isCut = total > bytes.length;
  // Half a character at the cut is left out.
  const text = isText ? new TextDecoder().decode(bytes, { stream: isCut }) : null;
  return { text, bytes: total, isCut };
}

export interface LoadedText {
  text: string | null;
  bytes: number;
  isCut: boolean;
}

export function searchMemory(id: string, query: string): Promise<MemorySearch> {
  return post<MemorySearch>(`/agents/${id}/memory/search`, { query });
}

export function fileAddress(id: string, shelf: Shelf, path: string): string {
  const tail = path.split("/").map(encodeURIComponent).join("/");
  return `/agents/${id}/${shelf}${tail === "" ? "" : `/${tail}`}`;
}

const server = new Transport({ url: "", via: "web" });
export const get = <T>(path: string) => heard(server.ask("GET", path)) as Promise<T>;
export const post = <T>(path: string, body: unknown) => heard(server.ask("POST", path, { body })) as Promise<T>;

/** The browser's own words ("Failed to fetch") tell nobody what to do. */
function heard<T>(asked: Promise<T>): Promise<T> {
  return asked.catch((error: unknown) => {
    if (error instanceof UnreachableServer) throw unreachable();
    if (error instanceof ApiError && error.status === 401) lockedOut();
    throw error;
  });
}

function unreachable(): ApiError {
  return new ApiError(0, "unreachable", "The server is not responding. Is agiraph serve still running?");
}

const reach = (address: string, options: RequestInit & { headers?: Record<string, string> }) =>
  heard(server.fetch(address, options));

export async function pictureAt(address: string, type: string, most: number): Promise<Blob> {
  const response = await reach(address, {});
  if (!response.ok) throw await errorIn(response);
  const bytes = Number(response.headers.get("content-length") ?? 0);
  if (bytes > most) {
    await response.body?.cancel();
    throw new Error(`The picture is ${size(bytes)}, too large to show here. Download it to look at it.`);
  }
  return new Blob([await response.arrayBuffer()], { type });
}

/** A list that an answer must have. */
function listIn<K extends string, T>(answer: Record<K, T[]>, name: K): T[] {
  const list: unknown = isRecord(answer) ? answer[name] : undefined;
  if (!Array.isArray(list)) throw new ApiError(200, "unexpected", `${NOT_AGIRAPH} Its answer has no list of ${name}.`);
  return list as T[];
}

/** Also where the refusal came with an answer that was asked for as it is. */
async function errorIn(response: Response): Promise<ApiError> {
  if (response.status === 401) lockedOut();
  return refusalIn(response);
}

let lockedOut = () => {};

/** What to do when the server does not accept this browser any more. */
export function whenLockedOut(run: () => void): void {
  lockedOut = run;
}

/**
 * The token is exchanged for a one-time link, and the link for the page's cookie; the token itself is not stored. The
 * page is not reloaded, so nothing that was begun in it is lost.
 */
export async function logIn(token: string): Promise<void> {
  // What no header can carry (a copied "…") would be said to be the server's silence.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new ApiError(401, "unauthorised", "The token is wrong.");
  const bought = await reach("/login", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  if (!bought.ok) throw await errorIn(bought);
  const { url } = (await bought.json()) as { url: string };
  if (new URL(url).origin !== location.origin) {
    location.assign(url);
    return;
  }
  const redeemed = await fetch(url, { redirect: "manual" }).catch(() => Promise.reject(unreachable()));
  if (redeemed.type !== "opaqueredirect") throw await errorIn(redeemed);
  // As when the network is back: every connection is tried at once.
  window.dispatchEvent(new Event("online"));
}
