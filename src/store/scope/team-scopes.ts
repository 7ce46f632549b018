import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { NodeId, RunId, WorkerId } from "../../protocol/index.ts";
import { programsDir, repositoryDir } from "../paths.ts";
import { type AccessRow, AccessTable } from "./access.ts";
import { FileScope } from "./file-scope.ts";
import { projectBinds } from "./project-binds.ts";
import type { Scope } from "./scope.ts";
import { publishedFolders, runBinds, workerBinds } from "./scope-binds.ts";
import { homeOf, type Manifests } from "./scoped-path.ts";

/** The coordinator reads the agent's folder and everything in the run, and writes what is its own: that folder, run root, specs. */
export function coordinatorScope({
  agentDir,
  runId,
  project,
  published,
}: {
  agentDir: string;
  runId: RunId;
  project: string | null;
  published?: Manifests;
}): Scope {
  const run = `runs/${runId}`;
  const runDir = join(agentDir, run);
  return new FileScope({
    agentDir,
    project,
    top: ["runs", runId],
    aliases: new Map([["agent", []]]),
    cwd: runDir,
    published,
    table: new AccessTable(coordinatorRows(run)),
    mayWrite: () =>
      "You may write the run's own files, e.g. output/report.md or notes/findings.md, a node's _spec.md, agent/MEMORY.md and agent/memory/…",
    describe: () => coordinatorWords(runId, project),
    async binds() {
      const inProject = await projectBinds(project, homeOf(agentDir));
      const inRun = runBinds(agentDir, runDir);
      const programs = [programsDir(agentDir)].filter((folder) => existsSync(folder));
      const hide = [...inProject.hide, ...programs];
      const mirrors = [
        { at: join(runDir, "agent"), of: agentDir },
        ...inProject.laidOut.map(({ at }) => ({ at: join(runDir, "project"), of: at })),
      ];
      // Where the run's folder is not writable, no place can be made for them.
      const named = inRun.write.length > 0 ? { mirrors } : {};
      return { ...inProject, ...inRun, ...named, hide, cwd: runDir };
    },
  });
}

/**
 * A worker reads its node, what others published, its own files, the plan and the messages; it writes scratch and its own
 * files, and where it has a clone of the repository, that: then plain paths begin there.
 */
export function workerScope(who: WorkerScopeOptions): Scope {
  const { agentDir, runId, nodeId, workerId, published, hasClone = false } = who;
  // The clone has all of it.
  const project = hasClone ? null : who.project;
  const runDir = join(agentDir, "runs", runId);
  const node = ["runs", runId, "nodes", nodeId];
  const self = ["runs", runId, "workers", workerId];
  const inRun = hasClone ? ["nodes", "_plan.md", "_board.md", "_messages"] : [];
  const cwd = join(runDir, "nodes", nodeId, hasClone ? "repo" : "scratch");
  return new FileScope({
    agentDir,
    project,
    top: hasClone ? [...node, "repo"] : ["runs", runId],
    topIsProject: hasClone,
    aliases: new Map([
      ...["scratch", "published", "_spec.md", "_refs.json"].map((name) => [name, [...node, name]] as const),
      ...["notebook.md", "memory.md", "identity.md"].map((name) => [name, [...self, name]] as const),
      ...inRun.map((name) => [name, ["runs", runId, name]] as const),
      ...(hasClone ? [["repo", [...node, "repo"]] as const] : []),
    ]),
    cwd,
    ...(hasClone && { named: { SCRATCH: join(runDir, "nodes", nodeId, "scratch"), RUN: runDir, PROJECT: cwd } }),
    published,
    table: new AccessTable(workerRows(`runs/${runId}`, nodeId, workerId)),
    mayWrite: (path) =>
      `You may write to ${hasClone ? "the repository, to " : ""}scratch/…, e.g. scratch/${basename(path) || "report.md"}, and to your own notebook.md and memory.md.`,
    describe: () => (hasClone ? cloneWords(nodeId, workerId) : workerWords(nodeId, workerId, project)),
    async binds() {
      const inProject = await projectBinds(project, homeOf(agentDir));
      const own = workerBinds(join(runDir, "workers", workerId));
      const nodeDir = join(runDir, "nodes", nodeId);
      const scratch = join(nodeDir, "scratch");
      // Not _plan.md: the coordinator's shell can put a link in its place, and a mount would follow it.
      const shared = [...(await publishedFolders(runDir, nodeId)), join(runDir, "_messages"), nodeDir];
      const clone = hasClone ? [cwd] : [];
      return {
        ...inProject,
        write: [...clone, scratch, ...own.write],
        read: [...own.read, ...shared, ...(hasClone ? [repositoryDir(agentDir)] : [])],
        cwd,
      };
    },
  });
}

/** A person sees everything in an agent's folder, and changes nothing that way. */
export function humanScope(agentDir: string, published?: Manifests): Scope {
  const why = "Its files are its own; talk to it instead.";
  return new FileScope({
    agentDir,
    project: null,
    top: [],
    aliases: new Map(),
    cwd: agentDir,
    published,
    table: new AccessTable([
      { at: ".*/**", access: "none", why: "It is made from the other files." },
      { at: "**", access: "read", why },
    ]),
    mayWrite: () => "",
    describe: () => "Everything, to read.",
    binds: async () => ({ write: [], read: [agentDir], hide: [], cwd: agentDir }),
  });
}

export interface WorkerScopeOptions {
  agentDir: string;
  runId: RunId;
  nodeId: NodeId;
  workerId: WorkerId;
  project: string | null;
  /** What published files are compared with when they are read. */
  published?: Manifests;
  /** Its node has a clone of the repository. */
  hasClone?: boolean;
}

const RECORD = "It is part of the record, which only the runtime writes.";
const FINAL = "What is published is final.";

/** What the coordinator may read and write (seed 002 §1.0); the first match wins. */
function coordinatorRows(run: string): AccessRow[] {
  return [
    { at: `${run}/nodes/*/_spec.md`, access: "write", why: "" },
    { at: `${run}/nodes/*/published/**`, access: "read", why: FINAL },
    { at: `${run}/nodes/**`, access: "read", why: "A node's folder is its worker's; you may change its _spec.md." },
    { at: `${run}/workers/**`, access: "read", why: "A worker's files are its own; send it a message instead." },
    { at: `${run}/_messages/**`, access: "read", why: `${RECORD} Use send_message.` },
    { at: `${run}/*.jsonl*`, access: "read", why: RECORD },
    { at: `${run}/**`, access: "write", why: "" },
    { at: "runs/**", access: "read", why: "Other runs are over and stay as they were." },
    { at: "memory/.versions/**", access: "read", why: "What your memory said before is kept as it was." },
    { at: ".index/**", access: "none", why: "It is made from your memory's files; search those with memory_search." },
    { at: "pictures/**", access: "read", why: RECORD },
    { at: ".programs/**", access: "none", why: "The home of a program is its own." },
    ...["*.jsonl*", "triggers.json", "snapshots/**", ".*/**"].map((at) => ({
      at,
      access: "read" as const,
      why: RECORD,
    })),
    { at: "GOAL.md", access: "read", why: "The goal is your human's; ask them to change it." },
    { at: "**", access: "write", why: "" },
  ];
}

function workerRows(run: string, nodeId: NodeId, workerId: WorkerId): AccessRow[] {
  const others = "Of another node you may read only published/; ask its worker or the coordinator for the rest.";
  return [
    { at: `${run}/nodes/${nodeId}/scratch/**`, access: "write", why: "" },
    { at: `${run}/nodes/${nodeId}/repo/.git/**`, access: "read", why: "Change it with git, in bash." },
    { at: `${run}/nodes/${nodeId}/repo/**`, access: "write", why: "" },
    { at: `${run}/nodes/*/published/**`, access: "read", why: FINAL },
    {
      at: `${run}/nodes/${nodeId}/**`,
      access: "read",
      why: "Spec, refs, status and log of your node are written for you.",
    },
    { at: `${run}/nodes/**`, access: "none", why: others },
    { at: `${run}/workers/${workerId}/*.jsonl*`, access: "read", why: RECORD },
    { at: `${run}/workers/${workerId}/history.json`, access: "read", why: RECORD },
    { at: `${run}/workers/${workerId}/**`, access: "write", why: "" },
    { at: `${run}/workers/**`, access: "none", why: "Another worker's files are private; send it a message instead." },
    { at: `${run}/_board.md`, access: "read", why: RECORD },
    {
      at: `${run}/_plan.md`,
      access: "read",
      why: "The plan is the coordinator's; send it a message or use suggest_next.",
    },
    { at: `${run}/_messages/**`, access: "read", why: `${RECORD} Use send_message.` },
    { at: `${run}/agent/**`, access: "none", why: "The agent's folder and memory are the coordinator's; ask it." },
    { at: "**", access: "none", why: "It is the coordinator's, or it does not exist." },
  ];
}

function coordinatorWords(runId: RunId, project: string | null): string {
  return `# Your files

Paths are relative to this run (${runId}).
- You write: output/… (results go here), the run's own files (_plan.md, notes/…), a node's _spec.md, your own folder as agent/…
- You read: all of that, nodes/NODE/… (results in published/), workers/WORKER/…, _messages/…${projectWords(project)}`;
}

function workerWords(nodeId: NodeId, workerId: WorkerId, project: string | null): string {
  return `# Your files

Paths are relative to the run; your own things have short names.
- You write: scratch/… (your work on ${nodeId}), notebook.md and memory.md (yours, ${workerId}).
- You read: all of that, _spec.md, _refs.json, identity.md, nodes/NODE/published/…, _plan.md, _messages/…${projectWords(project, " ($PROJECT/… in bash)")}`;
}

function cloneWords(nodeId: NodeId, workerId: WorkerId): string {
  return `# Your files

You work in your own clone of the repository; paths are relative to its top, as in bash (project/… is the same, but not in bash). git works there, without a network. ${PUBLISHING}
- You write: the repository, scratch/… (of ${nodeId}: results that are not part of the repository), notebook.md and memory.md (yours, ${workerId}).
- You read: all of that, _spec.md, _refs.json, identity.md, nodes/NODE/published/…, _plan.md, _messages/… These names are not the repository's: a file of the repository with such a name is repo/NAME.`;
}

const PUBLISHING =
  "publish commits what you changed (your own commits stay), merges it into the team's branch and runs the checks on the result.";

function projectWords(project: string | null, inBash = ""): string {
  return project === null
    ? ""
    : `\n- You read the user's own files as project/…${inBash} Names that begin with a dot are left out.`;
}
