import { type BigIntStats, lstatSync, opendirSync } from "node:fs";
import { join } from "node:path";
import { TimeSlices } from "../disk/time-slices.ts";

/** What is known about one folder of the user's project. */
export interface SurveyedFolder {
  /** Its visible folders. */
  folders: ReadonlyMap<string, SurveyedFolder>;
  /** How many visible names it holds. */
  names: number;
  /** It holds a name that nobody inside may see: one that begins with a dot, or our home. */
  hides: boolean;
  /** It was not looked through: it is closed to us, lies too deep, or there are too many folders. */
  unknown: boolean;
  /** Nothing in it or below it is hidden or unknown. */
  isClear: boolean;
  /** It, or a folder below it, holds what the files of a program are listed in; settings are kept beside that. */
  holdsPackage: boolean;
}

const MOST_FOLDERS = 50_000;
const MOST_NAMES = 1_000_000;
const DEEPEST = 40;
/** Two changes within this time may leave the same stamp on a folder, on the coarsest file systems. */
const COARSEST_MS = 2_000;
/** Dependencies with hidden names and more packages than this are never shown one by one, so they are not looked through. */
const MOST_DEPENDENCIES = 200;

/**
 * Scans the user's project for names that must be hidden. Folders are cached, and read again only when their stamp has
 * changed: a second scan of 20,000 folders costs 20,000 `lstat`.
 *
 * SURVEY-1. A stale cache never shows more than it should. A stamp is trusted only if it was older than the clock's
 *     resolution when the folder was read, and it is compared each time.
 * SURVEY-2. It yields every few milliseconds, and is limited in folders, names and depth.
 */
export class ProjectSurvey {
  readonly #root: string;
  readonly #home: string;
  readonly #top = newFolder();

  /** Both without links on the way. */
  constructor(root: string, home: string) {
    this.#root = root;
    this.#home = home;
  }

  /** One at a time: it changes what was read before. */
  async look(): Promise<SurveyedFolder> {
    const slices = new TimeSlices();
    const queue: Visit[] = [{ path: this.#root, depth: 0, folder: this.#top }];
    // Looked through last: they are the first to be given up.
    const dependencies: Visit[] = [];
    const looked: KnownFolder[] = [];
    let names = 0;
    for (let at = 0, visit = queue[0]; visit; visit = queue[++at] ?? dependencies.pop()) {
      const { folder, path, depth } = visit;
      looked.push(folder);
      folder.unknown = looked.length > MOST_FOLDERS || names > MOST_NAMES || depth > DEEPEST;
      if (folder.unknown) continue;
      await this.#refresh(folder, path, slices);
      names += folder.names;
      if (slices.isDue) await slices.rest();
      if (isDependencies(path) && folder.hides && folder.names > MOST_DEPENDENCIES) folder.unknown = true;
      if (folder.unknown) continue;
      for (const [name, child] of folder.folders) {
        const next = { path: join(path, name), depth: depth + 1, folder: child };
        (name === DEPENDENCIES ? dependencies : queue).push(next);
      }
    }
    for (const folder of looked.reverse()) concluded(folder);
    return this.#top;
  }

  async #refresh(folder: KnownFolder, path: string, slices: TimeSlices): Promise<void> {
    try {
      const stats = lstatSync(path, { bigint: true });
      const stamp = `${stats.dev}-${stats.ino}-${stats.mtimeNs}-${stats.ctimeNs}`;
      if (folder.stamp === stamp) return;
      const began = Date.now();
      await this.#read(folder, path, slices);
      folder.stamp = isReliable(stats, began) ? stamp : undefined;
    } catch {
      folder.stamp = undefined;
      folder.unknown = true; // it is closed to us, or has just gone
    }
  }

  async #read(folder: KnownFolder, path: string, slices: TimeSlices): Promise<void> {
    const folders = new Map<string, KnownFolder>();
    let [names, hides, isPackage] = [0, false, false];
    const listing = opendirSync(path, { bufferSize: 256 });
    try {
      for (let child = listing.readSync(); child && names <= MOST_NAMES; child = listing.readSync()) {
        if (slices.isDue) await slices.rest();
        if (isHiddenName(child.name) || join(path, child.name) === this.#home) {
          hides = true;
          continue;
        }
        names++;
        isPackage ||= isManifest(child.name);
        if (child.isDirectory()) folders.set(child.name, folder.folders.get(child.name) ?? newFolder());
      }
    } finally {
      listing.closeSync();
    }
    Object.assign(folder, { folders, names, hides, isPackage });
  }
}

interface KnownFolder extends SurveyedFolder {
  /** Of the folder as it was read; undefined where it has to be read again. */
  stamp: string | undefined;
  folders: Map<string, KnownFolder>;
  isPackage: boolean;
}

interface Visit {
  path: string;
  depth: number;
  folder: KnownFolder;
}

export const DEPENDENCIES = "node_modules";

export function isHiddenName(name: string): boolean {
  return name.startsWith(".");
}

const isDependencies = (path: string) => path.endsWith(`/${DEPENDENCIES}`);

function newFolder(): KnownFolder {
  const known = { hides: false, unknown: false, isClear: false, isPackage: false, holdsPackage: false };
  return { ...known, stamp: undefined, folders: new Map(), names: 0 };
}

/** Its folders were concluded before it. */
function concluded(folder: KnownFolder): void {
  const below = [...folder.folders];
  folder.isClear = !folder.hides && !folder.unknown && below.every(([, { isClear }]) => isClear);
  folder.holdsPackage =
    folder.isPackage || below.some(([name, { holdsPackage }]) => holdsPackage && name !== DEPENDENCIES);
}

function isReliable({ mtimeMs, ctimeMs }: BigIntStats, began: number): boolean {
  return began - Number(mtimeMs > ctimeMs ? mtimeMs : ctimeMs) > COARSEST_MS;
}

/** Files that describe a package. */
export function isManifest(name: string): boolean {
  return MANIFESTS.has(name);
}

/** Beside these lie the settings of a program, with its keys. */
const MANIFESTS = new Set([
  ...["package.json", "deno.json", "pyproject.toml", "requirements.txt", "setup.py", "manage.py", "Pipfile"],
  ...["Cargo.toml", "go.mod", "Gemfile", "composer.json", "mix.exs", "pom.xml", "build.gradle", "build.gradle.kts"],
  ...["Dockerfile", "Procfile", "Makefile", "serverless.yml", "wrangler.toml", "vercel.json", "fly.toml"],
  ...["compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml"],
]);
