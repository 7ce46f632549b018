import { join } from "node:path";
import { type AgentId, agentIdSchema, COORDINATOR, type NodeId, type RunId, type WorkerId } from "../protocol/index.ts";
import { StoreUsageError } from "./errors.ts";

/** Where things are in a home (seed 002 §1.0). The layout is part of the contract with users. */
export const EVENTS_FILE = "events.jsonl";

export const agentsDir = (root: string): string => join(root, "agents");
export const agentDir = (root: string, agent: AgentId): string => join(root, "agents", agent);
export const runDir = (agentFolder: string, run: RunId): string => join(agentFolder, "runs", run);
export const nodeDir = (agentFolder: string, run: RunId, node: NodeId): string =>
  join(runDir(agentFolder, run), "nodes", node);
export const workerDir = (agentFolder: string, run: RunId, worker: WorkerId): string =>
  join(runDir(agentFolder, run), "workers", worker);

/** Of an agent that writes: its own repository, and a node's clone of it. */
export const repositoryDir = (agentFolder: string): string => join(agentFolder, "repo.git");
export const cloneDir = (agentFolder: string, run: RunId, node: NodeId): string =>
  join(nodeDir(agentFolder, run, node), "repo");
/** What is on its way between sandboxes and the repository. */
export const transitDir = (agentFolder: string): string => join(agentFolder, ".transit");
/** What a setup has made, to be copied into further clones. */
export const setupsDir = (agentFolder: string): string => join(agentFolder, ".setups");

/** What git needs during one call. */
export const gitTemporaryDir = (root: string): string => join(root, ".git-temporary");

/** The homes of outside programs: out of reach of everybody in the team, including their own worker. */
export const programsDir = (agentFolder: string): string => join(agentFolder, ".programs");
export const programHome = (agentFolder: string, run: RunId, worker: WorkerId): string =>
  join(programsDir(agentFolder), run, worker);

/** The folder in which a leading program works: the same in every run. */
export const leadFolder = (agentFolder: string): string => join(agentFolder, "scratch");

/** Built from the memory's files, and rebuilt if it is missing. */
export const agentMemoryIndex = (agentFolder: string): string => join(agentFolder, ".index", "memory.sqlite");

export const journalDir = (root: string): string => join(root, "journal");
export const damagedDir = (root: string): string => join(root, "damaged");
export const receivedFile = (root: string): string => join(root, "webhooks.jsonl");
export const crashesDir = (root: string): string => join(root, "crashes");
export const versionFile = (root: string): string => join(root, "VERSION");
export const lockFile = (root: string): string => join(root, "home.lock");
export const holderFile = (root: string): string => join(root, "home.lock.json");

/** The conversation's file, relative to the agent's folder, as `append` and `conversation` expect it. */
export function conversationFile(run: RunId, worker: WorkerId): string {
  return worker === COORDINATOR ? "conversation.jsonl" : `runs/${run}/workers/${worker}/conversation.jsonl`;
}

export function isAgentId(name: string): name is AgentId {
  return agentIdSchema.safeParse(name).success;
}

/** Streams are named inside the home, so a name must not lead out of its agent's folder, nor to the facts. */
export function streamPath(agent: AgentId, file: string): string {
  const sound = /^[\w.-]+(\/[\w.-]+)*\.jsonl$/.test(file) && !/(^|\/)\.{1,2}(\/|$)/.test(file);
  if (!sound || file === EVENTS_FILE) {
    throw new StoreUsageError(
      `"${file}" is not a conversation file: it must be a relative path of plain names ending in .jsonl.`,
    );
  }
  return `agents/${agent}/${file}`;
}
