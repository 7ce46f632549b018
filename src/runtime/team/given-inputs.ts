import { mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { nodeNamed, type Situation } from "../../projections/index.ts";
import { dict } from "../../protocol/dict.ts";
import type { GivenInput, NodeId, RunId, WorkerId } from "../../protocol/index.ts";
import { nodeDir, runDir } from "../../store/paths.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import { INPUTS, putInput } from "../../store/run/node-inputs.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../../store/scope/scope-refusal.ts";
import { coordinatorScope, workerScope } from "../../store/scope/team-scopes.ts";

/**
 * Files that go with a node although they were not published in its run: from earlier runs, the coordinator's notes and
 * results, the project, or the scratch folder of a worker that hands out a part.
 *
 * GIVEN-1. They are copied into the node's `inputs/` when it is created, with their hashes in its fact: its worker
 *     reads exactly these, as they were, and nothing else from their source.
 * GIVEN-2. The giver must be able to read what it gives along; memory, other workers' files and unpublished work are
 *     never given along.
 */
export interface FoundInput {
  name: string;
  from: string;
  /** As its owner reads it, and as it is called in `inputs/`. */
  files: { path: string; as: string }[];
  isFolder: boolean;
}

type By = { worker_id: WorkerId; node_id: NodeId | null };

const MOST_FILES = 200;
const MOST_BYTES = 32 * 1024 * 1024;

/** The one who gives something along, and what they can read. */
export interface Giver {
  by: By;
  run: RunId;
  now: Situation;
  agentDir: string;
}

/** Which of these refs are to be copied, or why one cannot be. Refs to nodes of this run are not copied. */
export async function findInputs(
  refs: Readonly<Record<string, string>>,
  giver: Giver,
): Promise<{ ok: true; inputs: FoundInput[]; scope: Scope } | { ok: false; reason: string }> {
  const scope = scopeOf(giver);
  const inputs: FoundInput[] = [];
  const used = new Set<string>();
  let [files, bytes] = [0, 0];
  for (const [name, target] of Object.entries(refs)) {
    const path = sourceOf(target, giver);
    if (path === undefined) continue;
    if (typeof path !== "string") return { ok: false, reason: `ref "${name}" is "${target}": ${path.reason}` };
    try {
      const found = await look(scope, path, folderFor(name, used));
      inputs.push({ name, from: target, ...found });
      files += found.files.length;
      bytes += found.bytes;
      if (found.files.length === 0) return { ok: false, reason: `ref "${name}" is "${target}", which is empty.` };
    } catch (error) {
      if (!(error instanceof ScopeRefusal || error instanceof FileNotFound)) throw error;
      return { ok: false, reason: `ref "${name}": ${error.message}` };
    }
  }
  if (files > MOST_FILES || bytes > MOST_BYTES)
    return {
      ok: false,
      reason: `the refs are too much to give along: at most ${MOST_FILES} files and ${MOST_BYTES} bytes. Choose what is needed; project/ can be read by everybody, so name its paths in the task instead.`,
    };
  return { ok: true, inputs, scope };
}

/** Copies them, and returns their new names. */
export async function copyInputs(
  inputs: readonly FoundInput[],
  scope: Scope,
  at: { agentDir: string; run: RunId; node: NodeId },
): Promise<{ refs: Record<string, string>; given: GivenInput[] }> {
  const dir = nodeDir(at.agentDir, at.run, at.node);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // What a node of this number left that was never recorded.
  await rm(join(dir, INPUTS), { recursive: true, force: true });
  const refs = dict<string>();
  const given: GivenInput[] = [];
  for (const { name, from, files, isFolder } of inputs) {
    const copied = [];
    for (const { path, as } of files) {
      const { bytes } = await scope.readFile(path, { maxBytes: MOST_BYTES });
      copied.push(await putInput(dir, as, bytes));
    }
    given.push({ name, from, files: copied });
    const [first] = files;
    const top = isFolder ? first?.as.split("/", 1)[0] : first?.as;
    refs[name] = `${at.node}/${INPUTS}/${top}`;
  }
  return { refs, given };
}

function scopeOf({ by, run: runId, now, agentDir }: Giver): Scope {
  const { project } = now.agent.created;
  const published = manifestsOf(() => now.board);
  return by.node_id === null
    ? coordinatorScope({ agentDir, runId, project, published })
    : workerScope({ agentDir, runId, project, published, nodeId: by.node_id, workerId: by.worker_id });
}

/** Refs as people in the run write them: programs use absolute paths. */
export function plainRefs(
  refs: Readonly<Record<string, string>>,
  { by, run, now, agentDir }: Giver,
): Record<string, string> {
  const { project } = now.agent.created;
  const places: [string, string][] = [
    ...(by.node_id === null
      ? []
      : [[join(nodeDir(agentDir, run, by.node_id), "scratch"), "scratch"] as [string, string]]),
    [`${runDir(agentDir, run)}/`, ""],
    [agentDir, "agent"],
    ...(project === null ? [] : [[project, "project"] as [string, string]]),
  ];
  const plain = (target: string) => {
    const [whole = "", short = ""] =
      places.find(([place]) => `${target}/`.startsWith(place.replace(/\/?$/, "/"))) ?? [];
    return whole ? `${short}${target.slice(whole.length)}` : target;
  };
  return Object.fromEntries(Object.entries(refs).map(([name, target]) => [name, plain(target)]));
}

/** Where its owner reads it; undefined for what a node of this run publishes, which needs no copy. */
function sourceOf(target: string, { by, run, now: { board } }: Giver): string | { reason: string } | undefined {
  const path = target.replace(/^\.\//, "").replace(/\/+$/, "");
  const [, ofRun, id = "", inside] =
    /^(?:agent\/)?(?:runs\/(run-\d+)\/)?(?:nodes\/)?(node-\d+)\/(.*)$/.exec(`${path}/`) ?? [];
  const node = nodeNamed(board, id);
  if (id && !node) return undefined;
  if (node) {
    const isOwn = by.node_id === node.id && inside?.startsWith(`${INPUTS}/`);
    if (isOwn) return `nodes/${path.replace(/^nodes\//, "")}`;
    const isPublished = inside?.startsWith("published/");
    if (node.spec.run_id === run || !isPublished || (ofRun !== undefined && ofRun !== node.spec.run_id))
      return undefined;
    if (by.node_id !== null) return { reason: "only the coordinator gives files of earlier runs along. Ask it." };
    return `agent/runs/${node.spec.run_id}/nodes/${node.id}/${inside?.replace(/\/$/, "")}`;
  }
  if (path === "project" || path.startsWith("project/")) return path;
  return by.node_id === null ? ofCoordinator(path) : ofWorker(path);
}

function ofCoordinator(path: string): string | { reason: string } {
  const within = path.replace(/^(?:agent\/)?runs\/run-\d+\//, "");
  const isEarlier = within !== path;
  const home = /^agent(?:\/|$)/.test(path) && !isEarlier ? path.slice("agent/".length) : undefined;
  if (home !== undefined) {
    if (/^(?:notes|output|scratch)(?:\/|$)/.test(home)) return path;
    return { reason: "the agent's memory and folder stay yours. Copy what is needed to notes/ and refer to that." };
  }
  if (/^(?:nodes|workers|_messages)(?:\/|$)/.test(within))
    return { reason: "of a node only published/ can be given along, and of workers and messages nothing." };
  return isEarlier ? `agent/${path.replace(/^agent\//, "")}` : path;
}

function ofWorker(path: string): string | { reason: string } {
  return /^scratch(?:\/|$)/.test(path)
    ? path
    : { reason: "give along what a node published, scratch/… of your own, or project/…" };
}

async function look(scope: Scope, path: string, folder: string) {
  try {
    const { size } = await scope.readFile(path, { maxBytes: 0 });
    return { files: [{ path, as: `${folder}/${basename(path)}` }], bytes: size, isFolder: false };
  } catch (error) {
    if (!(error instanceof ScopeRefusal && error.reason === "wrong_kind")) throw error;
  }
  const { entries, more } = await scope.list(path, { recursive: true, limit: MOST_FILES + 1 });
  const listed = entries.filter(({ kind }) => kind === "file");
  const bytes = more ? Number.POSITIVE_INFINITY : listed.reduce((sum, file) => sum + file.bytes, 0);
  const files = listed.map((file) => ({ path: file.path, as: `${folder}/${file.path.slice(path.length + 1)}` }));
  return { files, bytes, isFolder: true };
}

/** A ref's name as a folder's, which no other ref has. */
function folderFor(name: string, used: Set<string>): string {
  const plain = name.replace(/[^\w-]+/g, "-").slice(0, 60) || "input";
  let folder = plain;
  for (let number = 2; used.has(folder.toLowerCase()); number++) folder = `${plain}-${number}`;
  used.add(folder.toLowerCase());
  return folder;
}
