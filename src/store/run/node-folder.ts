import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { closeFolder, type Folder, glance } from "../disk/folder.ts";
import { makeFolderAside } from "../disk/folder-changes.ts";
import { openFile, openFolder } from "../disk/walk.ts";
import { addWhole, rewriteWhole, writeWhole } from "../disk/whole-file.ts";

export {
  finishPublish,
  type PreparedPublish,
  preparePublish,
  problemPublishing,
  recoverPublish,
  reopenPublish,
  undoPublish,
} from "./publish.ts";

/**
 * The folders of seed 002 §1.0. Creating them again adds what is missing and changes nothing else, so recovery simply
 * creates them all. For the same reason nothing is synced here: what a power failure loses is in the facts.
 */
export async function createNodeFolder(dir: string, node: SpecifiedNode): Promise<void> {
  await createFolder(dir, {
    folders: ["scratch", "published"],
    files: {
      "_spec.md": specFile(node),
      "_refs.json": `${JSON.stringify(node.refs, null, 2)}\n`,
      "_status.md": statusText("pending"),
      "log.jsonl": "",
    },
  });
}

/** What `_spec.md` is built from. */
export interface SpecifiedNode {
  id: string;
  task: string;
  deliverables: readonly string[];
  checks?: readonly string[] | undefined;
  refs: Readonly<Record<string, string>>;
}

/** The initial `_spec.md`. The coordinator may change it before a worker begins. */
export function specFile(node: SpecifiedNode): string {
  const inputs = listed(
    "Input",
    Object.entries(node.refs).map(([name, target]) => `${name}: nodes/${target}`),
  );
  return `${[`# ${node.id}`, specText(node), ...inputs].join("\n\n")}\n`;
}

/** Where a worker's files are, as it calls that; "unsaid" where it writes none, or may be anybody. */
export type WorkFolder = "scratch" | "current folder" | "repository" | "unsaid";

const DELIVERED: Record<WorkFolder, string> = {
  scratch: " (in scratch/)",
  "current folder": " (in your current folder)",
  repository: " (in the repository; in scratch/ what is no part of it)",
  unsaid: "",
};
const CHECKED: Record<WorkFolder, string> = {
  scratch: "publish runs them in scratch/",
  "current folder": "they run in your current folder",
  repository: "publish runs them at the top of the merged repository",
  unsaid: "publish runs them in scratch/",
};

/** What a worker has to do, and how it is checked. */
export function specText(
  { task, deliverables, checks = [] }: Omit<SpecifiedNode, "id" | "refs">,
  where: WorkFolder = "unsaid",
): string {
  const commands = checks.map((command) => `\`${command}\``);
  return [
    task.trim(),
    ...listed(`Deliverables${DELIVERED[where]}`, deliverables),
    ...listed(`Checks (${CHECKED[where]}; all must pass)`, commands),
  ].join("\n\n");
}

function listed(title: string, items: readonly string[]): string[] {
  return items.length > 0 ? [`## ${title}\n\n${items.map((item) => `- ${item}`).join("\n")}`] : [];
}

/** Returns which files did not exist before. */
export function createWorkerFolder(
  dir: string,
  worker: { name: string; identity: string; memory?: string },
): Promise<ReadonlySet<string>> {
  return createFolder(dir, {
    folders: [],
    files: {
      "identity.md": `${worker.identity.trim()}\n`,
      "memory.md": worker.memory ? `${worker.memory.trim()}\n` : "",
      "notebook.md": "",
      "history.json": "[]\n",
    },
  });
}

export async function createRunFolder(dir: string): Promise<void> {
  await createFolder(dir, { folders: ["_messages", "nodes", "output", "workers"], files: {} });
}

export async function createAgentFolder(dir: string, agent: { soul: string; goal: string }): Promise<void> {
  await createFolder(dir, {
    folders: ["memory", "runs"],
    files: { "SOUL.md": `${agent.soul.trim()}\n`, "GOAL.md": `${agent.goal.trim()}\n`, "MEMORY.md": "" },
  });
}

/**
 * Removes the folder of an agent that was not created after all. If that fails, it is a folder without facts, which is
 * not an agent.
 */
export async function removeAgentFolder(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true }).catch(() => {});
}

/** `_status.md`, for people: derived from the facts, so it may be written again at any time. */
export function writeStatus(dir: string, status: string, summary = ""): Promise<void> {
  return rewrite(dir, "_status.md", statusText(status, summary));
}

/** `_spec.md`, changed after the node was made. */
export function writeSpec(dir: string, node: SpecifiedNode): Promise<void> {
  return rewrite(dir, "_spec.md", specFile(node));
}

/**
 * A crash may have lost the latest changes of `_spec.md`. Its earlier content is replaced; what somebody wrote by hand
 * stays.
 */
export async function repairSpec(
  dir: string,
  node: SpecifiedNode,
  askedBefore: readonly Omit<SpecifiedNode, "id" | "refs">[],
): Promise<void> {
  const folder = openFolder(dir, []);
  try {
    const content = textOf(folder, "_spec.md");
    const isOurs = (asked: (typeof askedBefore)[number]) =>
      content === specFile({ ...asked, id: node.id, refs: node.refs });
    if (content === "" || askedBefore.some(isOurs)) await rewriteWhole(folder, "_spec.md", Buffer.from(specFile(node)));
  } finally {
    closeFolder(folder);
  }
}

/** Empty where there is none. */
function textOf(folder: Folder, name: string): string {
  if (!glance(folder, name)) return "";
  const file = openFile(folder, name);
  try {
    return readFileSync(file.fd, "utf8");
  } finally {
    file.close();
  }
}

/** `identity.md`: who the worker is now. A new brief replaces what it was spawned with. */
export function writeIdentity(dir: string, identity: string): Promise<void> {
  return rewrite(dir, "identity.md", `${identity.trim()}\n`);
}

/** Replaces a file in one of our folders that can be rebuilt from the facts. */
export async function rewrite(dir: string, name: string, content: string): Promise<void> {
  const folder = openFolder(dir, []);
  try {
    await rewriteWhole(folder, name, Buffer.from(content));
  } finally {
    closeFolder(folder);
  }
}

async function createFolder(
  dir: string,
  { folders, files }: { folders: string[]; files: Record<string, string> },
): Promise<ReadonlySet<string>> {
  const added = new Set<string>();
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const folder = openFolder(dir, []);
  try {
    for (const name of folders) await makeFolderAside(folder, name);
    for (const [name, content] of Object.entries(files)) if (await addFile(folder, name, content)) added.add(name);
  } finally {
    closeFolder(folder);
  }
  return added;
}

/** An empty file that should not be empty is one that a crash cut off. */
async function addFile(folder: Folder, name: string, content: string): Promise<boolean> {
  const bytes = Buffer.from(content);
  if (await addWhole(folder, name, bytes)) return true;
  if (content === "" || glance(folder, name)?.size !== 0n) return false;
  await writeWhole(folder, name, bytes, "unsynced");
  return true;
}

function statusText(status: string, summary = ""): string {
  return `${status.toUpperCase()}\n${summary ? `\n${summary.trim()}\n` : ""}`;
}
