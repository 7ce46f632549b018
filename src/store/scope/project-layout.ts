import { type Dirent, opendirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { DEPENDENCIES, isHiddenName, isManifest, type SurveyedFolder } from "./project-survey.ts";

/**
 * Which parts of the user's project a command sees: visible files are bound in, hidden files are not masked.
 *
 * LAYOUT-1. A folder that holds a hidden name is laid out: an empty read-only folder with its visible names bound one
 *     by one. Whatever happens to a name that begins with a dot during a command, it is not visible.
 * LAYOUT-2. The top folder is always laid out, because a hidden file may be created there. So are, as long as mounts
 *     are left, folders that contain a package and shallow ones.
 * LAYOUT-3. A folder is bound whole only if it was scanned completely and nothing hidden was found.
 * LAYOUT-4. Everything else is left out, and named in `omitted`. A command then sees less, never more.
 */
export interface ProjectLayout {
  parts: ProjectPart[];
  /** What is not shown, and why, in sentences. */
  omitted: string[];
}

export interface ProjectPart {
  /** As seen from the project. */
  path: string;
  /** "empty" is a folder of the layout itself. */
  kind: "folder" | "file" | "link" | "empty";
  /** Where a link leads; null for the others. */
  target: string | null;
}

/** So many mounts are made where they are only a precaution. What mounts cost: docs/decisions/project-folder.md. */
const MOST_PRECAUTIONARY = 96;
/** So many where a folder could not be shown otherwise. */
const MOST_NEEDED = 600;
const SHALLOW = 2;
const MOST_NAMED = 5;

export function layOut(root: string, top: SurveyedFolder): ProjectLayout {
  const plan = new Plan(top);
  plan.addBelow(MOST_NEEDED, ({ folder, name }) => !folder.isClear && name !== DEPENDENCIES);
  const mayBeWhole = ({ folder, name }: Planned) => folder.isClear && name !== DEPENDENCIES;
  plan.addBelow(MOST_PRECAUTIONARY, (each) => mayBeWhole(each) && each.folder.holdsPackage);
  plan.addBelow(MOST_PRECAUTIONARY, (each) => mayBeWhole(each) && each.depth <= SHALLOW);
  plan.addBelow(MOST_PRECAUTIONARY, ({ folder }) => !folder.isClear);
  const parts: ProjectPart[] = [];
  let unseen = 0;
  for (const laid of plan.laidOut) unseen += namesIn(root, laid, plan, MOST_NEEDED, parts);
  return { parts, omitted: [...leftOutWords(plan.leftOut()), ...unseenWords(unseen)] };
}

interface Planned {
  name: string;
  path: string;
  depth: number;
  folder: SurveyedFolder;
}

/** Which folders are laid out. */
class Plan {
  readonly laidOut: Planned[];
  readonly #paths = new Set([""]);
  #mounts: number;

  constructor(folder: SurveyedFolder) {
    this.laidOut = [{ name: "", path: "", depth: 0, folder }];
    this.#mounts = folder.names;
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** Adds the folders below those that are laid out, the shallow first, as long as the mounts suffice. */
  addBelow(most: number, isWanted: (planned: Planned) => boolean): void {
    // It grows while it is gone through.
    for (const laid of this.laidOut) {
      for (const below of foldersOf(laid)) {
        if (this.has(below.path) || below.folder.unknown || !isWanted(below)) continue;
        if (this.#mounts + below.folder.names - 1 > most) continue;
        this.#mounts += below.folder.names - 1;
        this.#paths.add(below.path);
        this.laidOut.push(below);
      }
    }
  }

  leftOut(): Planned[] {
    return this.laidOut.flatMap((laid) =>
      foldersOf(laid).filter(({ path, folder }) => !folder.isClear && !this.has(path)),
    );
  }
}

function foldersOf({ path, depth, folder }: Planned): Planned[] {
  const below = Array.from(folder.folders, ([name, each]) => {
    return { name, path: path === "" ? name : `${path}/${name}`, depth: depth + 1, folder: each };
  });
  return below.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Adds what is in a folder now; how many names had no room. */
function namesIn(root: string, laid: Planned, plan: Plan, most: number, parts: ProjectPart[]): number {
  let unseen = 0;
  for (const child of childrenOf(join(root, laid.path)).sort(byWorth)) {
    const below = laid.folder.folders.get(child.name);
    const path = laid.path === "" ? child.name : `${laid.path}/${child.name}`;
    const part = partOf(join(root, path), path, child, below?.isClear === true && !plan.has(path));
    if (!part || (child.isDirectory() && !below)) continue; // our home, or a folder that has just come
    if (parts.length < most || part.kind === "empty") parts.push(part);
    else unseen++;
  }
  return unseen;
}

function partOf(at: string, path: string, child: Dirent, isWhole: boolean): ProjectPart | undefined {
  if (child.isDirectory()) return { path, kind: isWhole ? "folder" : "empty", target: null };
  if (child.isFile()) return { path, kind: "file", target: null };
  if (!child.isSymbolicLink()) return undefined;
  try {
    return { path, kind: "link", target: readlinkSync(at) };
  } catch {
    return undefined;
  }
}

/** Where there is not room for all: folders show most, then what describes a program; the rest is in the order of names. */
function byWorth(a: Dirent, b: Dirent): number {
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1);
}

function rank(child: Dirent): number {
  if (child.isDirectory()) return 0;
  return isManifest(child.name) || child.name.startsWith("README") ? 1 : 2;
}

/** At most ten times as many as can be shown: what is beyond is not even counted. */
function childrenOf(path: string): Dirent[] {
  const found: Dirent[] = [];
  try {
    const listing = opendirSync(path, { bufferSize: 256 });
    try {
      for (let child = listing.readSync(); child && found.length < 10 * MOST_NEEDED; child = listing.readSync()) {
        if (!isHiddenName(child.name)) found.push(child);
      }
    } finally {
      listing.closeSync();
    }
  } catch {
    return found; // it has just gone
  }
  return found;
}

function leftOutWords(left: readonly Planned[]): string[] {
  const words = left
    .slice(0, MOST_NAMED)
    .map(({ path, folder }) => `project/${path} is left out: ${whyLeftOut(folder)}`);
  const rest = left.length - words.length;
  return rest > 0 ? [...words, `${rest} more folders of project/ are left out for the same reasons.`] : words;
}

function whyLeftOut({ unknown, hides, folders }: SurveyedFolder): string {
  const closed = "it lies too deep, is closed by its permissions, or has too many folders to be looked through.";
  if (unknown && folders.size === 0) return closed;
  return hides
    ? "it holds hidden names (they begin with a dot), and too many others to show them one by one."
    : "folders in it hold hidden names (they begin with a dot), and there are too many names to show them one by one.";
}

function unseenWords(unseen: number): string[] {
  return unseen === 0
    ? []
    : [
        `At least ${unseen} files of project/ are left out: the names of their folder are shown one by one, and there are too many. In a folder of their own below the top, without hidden names in it, they would be shown.`,
      ];
}
