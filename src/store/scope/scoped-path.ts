import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { PublishedFile } from "../../protocol/index.ts";
import type { AccessTable, Judgement } from "./access.ts";
import type { ScopeBinds } from "./scope.ts";
import { FileNotFound, ScopeRefusal } from "./scope-refusal.ts";
import { ownNames, parsePath } from "./written-path.ts";

/** The differences between one participant's scope and another's. */
export interface ScopeRules {
  agentDir: string;
  /** Where Agiraph's own home is, if `agentDir` is not in it. */
  home?: string;
  project: string | null;
  /** Where `agentDir` is in the project: paths that begin like this lead there, as seen from the project. */
  inProject?: string;
  /** Where plain paths start, from the agent's folder. */
  top: readonly string[];
  /** Plain paths start in a clone of the project: `project/…` leads there too, unless the repository has such a folder. */
  topIsProject?: boolean;
  /** First names that stand for another place in the agent's folder. */
  aliases: ReadonlyMap<string, readonly string[]>;
  table: AccessTable;
  /** What to do instead, said after a refused write. */
  mayWrite: (path: string) => string;
  describe: () => string;
  binds: () => Promise<ScopeBinds>;
  cwd: string;
  named?: Readonly<Record<string, string>>;
  /** What published files are compared with when they are read. */
  published?: Manifests | undefined;
}

/** The recorded files of a node's publish; undefined if the record has nothing to compare with. */
export type Manifests = (runId: string, nodeId: string) => readonly PublishedFile[] | undefined;

/** A path on disk, and what may be done there. It may not exist. */
export interface ScopedPath {
  /** As it was asked for; every message says it this way. */
  path: string;
  /** The names in `path`. */
  names: readonly string[];
  root: string;
  /** From the root. */
  parts: readonly string[];
  judgement: Judgement;
  isProject: boolean;
}

export function scopedPathOf(view: ScopeRules, asked: string): ScopedPath {
  const path = shortNameOf(view, asked);
  const names = parsePath(path);
  const isProject = names[0] === "project" && !hasOwnProject(view);
  if (isProject && !view.topIsProject) return projectPath(view, path, names);
  const own = ownNames(isProject ? names.slice(1) : names);
  const alias = view.aliases.get(own[0] ?? "");
  const parts = alias ? [...alias, ...own.slice(1)] : [...view.top, ...own];
  return { path, names: own, root: view.agentDir, parts, judgement: view.table.judge(parts), isProject: false };
}

/** The clone has a file or a folder of its own that is named `project`. */
function hasOwnProject({ topIsProject, agentDir, top }: ScopeRules): boolean {
  if (!topIsProject) return false;
  return lstatSync(join(agentDir, ...top, "project"), { throwIfNoEntry: false }) !== undefined;
}

/** What is named by an absolute path, or as seen from the project, is called by its short name. */
function shortNameOf(view: ScopeRules, asked: string): string {
  const { inProject, agentDir } = view;
  const ways = inProject === undefined ? [] : [`${inProject}/`, `project/${inProject}/`];
  const start = ways.find((way) => `${asked}/`.startsWith(way));
  const absolute = start === undefined ? asked : `${agentDir}/${asked.slice(start.length)}`;
  return absolute.startsWith("/") ? (shortened(view, absolute) ?? asked) : asked;
}

/** An absolute path, as commands print it, in the words of this scope; undefined where it leads to no part of it. */
function shortened(view: ScopeRules, path: string): string | undefined {
  const inAgent = below(view.agentDir, path);
  if (inAgent === undefined) {
    const inProject = view.project === null ? undefined : below(view.project, path);
    return inProject && ["project", ...inProject].join("/");
  }
  const aliases = [...view.aliases].map(([name, parts]) => ({ first: [name], parts }));
  // The longest first: what has a short name is called by it. Where plain paths begin there, it needs none.
  const ways = [{ first: [], parts: view.top }, ...aliases].sort((a, b) => b.parts.length - a.parts.length);
  for (const { first, parts } of ways) {
    if (!parts.every((part, i) => part === inAgent[i])) continue;
    const rest = inAgent.slice(parts.length);
    // A file of the run that has one of our short names cannot be named; where commands begin there, it is what the name
    // stands for (`mirrors`).
    const isMirror = view.cwd === join(view.agentDir, ...view.top);
    const isTaken = first.length === 0 && !isMirror && (view.aliases.has(rest[0] ?? "") || rest[0] === "project");
    if (isTaken && aliases.some((alias) => isSame(alias.parts, parts))) continue;
    return isTaken ? undefined : [...first, ...rest].join("/");
  }
  return undefined;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

/** The names from a folder down to a path, as it is written or as its links lead; undefined where it is not below it. */
function below(folder: string, path: string): string[] | undefined {
  for (const root of [folder, realPathOf(folder)])
    if (path === root || path.startsWith(`${root}/`)) return path.slice(root.length).split("/").filter(Boolean);
  return undefined;
}

function realPathOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

/** An entry of a folder, or undefined if this participant must not see it. */
export function scopedChild(view: ScopeRules, scoped: ScopedPath, name: string): ScopedPath | undefined {
  // A short name overrides a file of the run that has the same name.
  if (isTop(view, scoped) && (view.aliases.has(name) || (name === "project" && !view.topIsProject))) return undefined;
  const names = [...scoped.names, name];
  const child = { ...scoped, names, path: names.join("/"), parts: [...scoped.parts, name] };
  if (scoped.isProject) return name.startsWith(".") ? undefined : child;
  const judgement = view.table.judge(child.parts);
  return mayList(view, { ...child, judgement }) ? { ...child, judgement } : undefined;
}

/** The folder `up` levels above a path. */
export function scopedAbove(view: ScopeRules, scoped: ScopedPath, up: number): ScopedPath {
  const parts = scoped.parts.slice(0, -up);
  const names = scoped.names.slice(0, -up);
  const judgement = scoped.isProject ? scoped.judgement : view.table.judge(parts);
  return { ...scoped, path: names.join("/"), names, parts, judgement };
}

/** A folder that leads to something readable may be listed too, showing only what leads there. */
export function mayList(view: ScopeRules, scoped: ScopedPath): boolean {
  return scoped.judgement.access !== "none" || view.table.leadsToReadable(scoped.parts);
}

/** Where short names stand beside the run's own; not a clone that was named, whose files keep their names below it. */
export function isTop(view: ScopeRules, scoped: ScopedPath): boolean {
  return (
    !scoped.isProject &&
    !(view.topIsProject && scoped.names.length > 0) &&
    scoped.parts.length === view.top.length &&
    view.top.every((part, i) => part === scoped.parts[i])
  );
}

/**
 * Published files were copied out of their links; they may have got second hard links since, for instance by a backup.
 */
export function isPublished(scoped: ScopedPath): boolean {
  const [runs, , nodes, , published] = scoped.parts;
  return !scoped.isProject && runs === "runs" && nodes === "nodes" && published === "published";
}

/** The record of a published file: undefined if there is none, null if the file was never published. */
export function publishedRecordOf(view: ScopeRules, { parts }: ScopedPath): PublishedFile | null | undefined {
  const [, run = "", , node = "", , ...path] = parts;
  const files = view.published?.(run, node);
  return files && (files.find((file) => file.path === path.join("/")) ?? null);
}

/** Agiraph's own home may be inside the user's folder; it is not part of the project. */
export function isHome(view: ScopeRules, folder: { dev: bigint; ino: bigint }): boolean {
  const home = statSync(view.home ?? homeOf(view.agentDir), { bigint: true, throwIfNoEntry: false });
  return home !== undefined && home.dev === folder.dev && home.ino === folder.ino;
}

export function notTheHome(path: string): ScopeRefusal {
  return new ScopeRefusal(
    "outside",
    `${path} is not yours to see: it is Agiraph's own home, which is no part of the project.`,
  );
}

/** The home of all agents: `HOME/agents/AGENT`. */
export function homeOf(agentDir: string): string {
  return dirname(dirname(agentDir));
}

function projectPath(view: ScopeRules, path: string, names: readonly string[]): ScopedPath {
  const parts = names.slice(1);
  if (view.project === null) {
    throw new ScopeRefusal("outside", `${path} is not there: this agent was started without a project folder.`);
  }
  if (parts.some((part) => part.startsWith("."))) {
    throw new ScopeRefusal(
      "outside",
      `${path} is not yours to see: names that begin with a dot are left out of the project.`,
    );
  }
  const why = "The project is the user's; you only read it.";
  const judgement: Judgement = { access: "read", why, createFrom: Number.POSITIVE_INFINITY };
  return {
    path,
    names,
    root: projectRoot(path, view.project, view.home ?? homeOf(view.agentDir)),
    parts,
    judgement,
    isProject: true,
  };
}

/** The user's folder may itself be reached by a link; from there on none is followed. */
function projectRoot(path: string, project: string, home: string): string {
  let root: string;
  try {
    root = realpathSync(project);
  } catch (error) {
    throw new FileNotFound(`There is no ${path}: the project folder is gone.`, { cause: error });
  }
  if (`${root}${sep}`.startsWith(`${realpathSync(home)}${sep}`)) throw notTheHome(path);
  return root;
}
