import type { OpenFile } from "../disk/walk.ts";
import type { LaidOutProject } from "./project-binds.ts";

/**
 * One participant's view of the files. The file tools, the shell and the API use the same table.
 *
 * SCOPE-1. A path is checked against the table before the disk is accessed, so a refusal never reveals what exists.
 * SCOPE-2. What was checked is what is opened: no link, `..`, odd name or race leads anywhere else (see walk.ts).
 * SCOPE-3. A write is atomic, and never goes through an existing link to somewhere else.
 */
export interface Scope {
  /** The first `maxBytes` of a file. Rejects with ScopeRefusal or FileNotFound; both speak to the one who asked. */
  readFile(path: string, options: { maxBytes: number }): Promise<FileContent>;
  /** An open regular file, for reading in parts. The caller closes it. */
  openFile(path: string): OpenFile;
  /** The same; a published file whose content is not what was recorded is refused (`changed`). */
  openChecked(path: string): Promise<OpenFile>;
  writeFile(path: string, content: string | Uint8Array): Promise<{ bytes: number }>;
  /** Breadth first, so that a bound cuts the depths and not the overview. */
  list(path: string, options: ListOptions): Promise<Listing>;
  /** For the prompt: what may be read and written. */
  describe(): string;
  binds(): Promise<ScopeBinds>;
  /** Where a command begins. */
  readonly cwd: string;
  /** Where plain paths begin: the folder of the run, of the mesh, or of a clone. */
  readonly top: string;
  /** The folders that commands know by a name (SCRATCH, RUN), where they are others than `cwd` and `top`. */
  readonly named?: Readonly<Record<string, string>>;
}

export interface FileContent {
  bytes: Buffer;
  /** Of the whole file. */
  size: number;
  truncated: boolean;
}

export interface ListOptions {
  recursive?: boolean;
  limit: number;
  /** At the top, leave out the names that stand for another place: what they lead to is listed there. */
  withoutShortNames?: boolean;
  /**
   * What git ignores in a folder below (`.gitignore`): "skipped", unless the path itself is ignored; or "opened", as well
   * as dependencies, which stay closed otherwise.
   */
  ignored?: "skipped" | "opened";
}

export interface Listing {
  entries: ListedFile[];
  /** Something was left out: there was more than the limit allows, or a folder lies too deep. */
  more: boolean;
  /** The first folder that was not opened because it lies too deep; others may. */
  tooDeep?: string;
  /** How many names were skipped because they are ignored. */
  skipped?: number;
  /** Files that say what is ignored were too large, or too much work, to be followed in all. */
  isIgnoringPartly?: boolean;
}

export interface ListedFile {
  /** As one would pass it to `readFile` or `list`. */
  path: string;
  kind: "file" | "folder" | "link" | "special";
  bytes: number;
}

/**
 * Real paths for the sandbox. They must be mounted from the shortest to the longest, so that a path inside another one
 * wins, whatever list it is in; nothing else of the home is visible.
 */
export interface ScopeBinds {
  write: string[];
  read: string[];
  hide: string[];
  /** What of the user's project is shown, where not all of it is. */
  laidOut?: LaidOutProject[];
  /** Where folders of these binds are shown once more, read-only, so that commands find them by the names of this scope. */
  mirrors?: { at: string; of: string }[];
  /** What of the project is not shown although its names are not hidden, and why, in sentences. */
  omitted?: string[];
  cwd: string;
}
