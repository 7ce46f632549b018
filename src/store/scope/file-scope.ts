import { read, readSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { closest } from "../../boundary/nearest.ts";
import { hasContent } from "../disk/content-check.ts";
import { childrenOf, closeFolder, type Folder, glance, WalkError } from "../disk/folder.ts";
import { type OpenFile, openFile, openFolder } from "../disk/walk.ts";
import { writeWhole } from "../disk/whole-file.ts";
import { entryOf, listingOf, walkOptions } from "./listing.ts";
import { isFolder, notAsPublished, outside, refusalOf } from "./refusal-words.ts";
import type { FileContent, ListedFile, Listing, ListOptions, Scope, ScopeBinds } from "./scope.ts";
import { FileNotFound, ScopeRefusal } from "./scope-refusal.ts";
import {
  isPublished,
  isTop,
  mayList,
  publishedRecordOf,
  type ScopedPath,
  type ScopeRules,
  scopedAbove,
  scopedPathOf,
} from "./scoped-path.ts";

/** The most that one write takes. */
export const MAX_WRITE_BYTES = 10 * 1024 * 1024;

/** So many names are looked at for those that come near one that is missing. */
const MOST_SUGGESTED = 500;
/** So many earlier runs are looked through for it, the newest first. */
const MOST_EARLIER = 50;

/** What is so small is read at once: a trip through the thread pool costs more than the reading. */
const SMALL = 64 * 1024;

const readAt = promisify(read);

/** A view of the files, on a real disk. The rules are in scope.ts, the opening in walk.ts. */
export class FileScope implements Scope {
  readonly #view: ScopeRules;

  constructor(view: ScopeRules) {
    this.#view = view;
  }

  async readFile(path: string, { maxBytes }: { maxBytes: number }): Promise<FileContent> {
    const file = await this.openChecked(path);
    try {
      const buffer = Buffer.alloc(Math.min(file.size, maxBytes));
      let filled = buffer.length <= SMALL ? readSync(file.fd, buffer, 0, buffer.length, 0) : 0;
      while (filled < buffer.length) {
        const { bytesRead } = await readAt(file.fd, buffer, filled, buffer.length - filled, filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return { bytes: buffer.subarray(0, filled), size: file.size, truncated: file.size > filled };
    } finally {
      file.close();
    }
  }

  async openChecked(path: string): Promise<OpenFile> {
    const file = this.openFile(path);
    try {
      const scoped = scopedPathOf(this.#view, path);
      const recorded = isPublished(scoped) ? publishedRecordOf(this.#view, scoped) : undefined;
      if (recorded === undefined || (recorded && (await hasContent(file.fd, recorded)))) return file;
      throw new ScopeRefusal("changed", notAsPublished(path, recorded === null));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  openFile(path: string): OpenFile {
    const scoped = scopedPathOf(this.#view, path);
    const name = scoped.parts.at(-1);
    if (scoped.judgement.access === "none") throw outside("read", scoped);
    if (name === undefined) throw isFolder(path);
    const file = this.#guarded(scoped, () =>
      this.#inFolder(scoped, scoped.parts.slice(0, -1), (folder) =>
        openFile(folder, name, { anyForm: scoped.isProject }),
      ),
    );
    if (!file.linked || scoped.isProject || isPublished(scoped)) return file;
    file.close();
    const words = `${path} has a second name elsewhere (a hard link) and is not read. Copy it and read the copy.`;
    throw new ScopeRefusal("unsafe", words);
  }

  async writeFile(path: string, content: string | Uint8Array): Promise<{ bytes: number }> {
    const scoped = this.#pathToWrite(path);
    const bytes = typeof content === "string" ? Buffer.from(content.toWellFormed()) : content;
    if (bytes.length > MAX_WRITE_BYTES) {
      const words = `${path} was not written: it has ${bytes.length} bytes, at most ${MAX_WRITE_BYTES} are allowed. Split it.`;
      throw new ScopeRefusal("too_large", words);
    }
    const { createFrom } = scoped.judgement;
    const folder = this.#guarded(scoped, () => openFolder(scoped.root, scoped.parts.slice(0, -1), { createFrom }));
    try {
      const name = scoped.parts.at(-1) ?? "";
      const before = glance(folder, name);
      // As it was, but never writable for others.
      const mode = before?.isFile() ? 0o600 | (Number(before.mode) & 0o755) : 0o600;
      await writeWhole(folder, name, bytes, "synced", mode);
      return { bytes: bytes.length };
    } catch (error) {
      throw this.#explained(scoped, error);
    } finally {
      closeFolder(folder);
    }
  }

  async list(path: string, options: ListOptions): Promise<Listing> {
    const scoped = scopedPathOf(this.#view, path);
    if (!mayList(this.#view, scoped)) throw outside("list", scoped);
    const mounts = isTop(this.#view, scoped) && !options.withoutShortNames ? this.#mounts() : [];
    try {
      return await listingOf(this.#view, scoped, options, mounts);
    } catch (error) {
      throw this.#explained(scoped, error);
    }
  }

  describe(): string {
    return this.#view.describe();
  }

  get cwd(): string {
    return this.#view.cwd;
  }

  get top(): string {
    return join(this.#view.agentDir, ...this.#view.top);
  }

  get named(): Readonly<Record<string, string>> {
    return this.#view.named ?? {};
  }

  binds(): Promise<ScopeBinds> {
    return this.#view.binds();
  }

  #pathToWrite(path: string): ScopedPath {
    const scoped = scopedPathOf(this.#view, path);
    const { access, why } = scoped.judgement;
    if (access === "write" && !path.endsWith("/")) return scoped;
    const reason = access === "none" ? "outside" : access === "read" ? "read_only" : "wrong_kind";
    const words = `You may not write ${path || "the top folder"}. ${why || "It is a folder."} ${this.#view.mayWrite(path)}`;
    throw new ScopeRefusal(reason, words);
  }

  /** What stands at the top beside the run's own files. Never opened by a recursive listing: it would be there twice. */
  #mounts(): ListedFile[] {
    const mounts = [...this.#view.aliases].flatMap(([path, parts]) => this.#mountAt(path, parts));
    return this.#view.project === null ? mounts : [...mounts, { path: "project", kind: "folder", bytes: 0 }];
  }

  #mountAt(path: string, parts: readonly string[]): ListedFile[] {
    const name = parts.at(-1);
    if (name === undefined) return [{ path, kind: "folder", bytes: 0 }];
    try {
      const folder = openFolder(this.#view.agentDir, parts.slice(0, -1));
      const stats = glance(folder, name);
      closeFolder(folder);
      if (stats?.isDirectory()) return [{ path, kind: "folder", bytes: 0 }];
      return stats?.isFile() ? [{ path, kind: "file", bytes: Number(stats.size) }] : [];
    } catch (error) {
      if (error instanceof WalkError) return [];
      throw error;
    }
  }

  #inFolder<T>(scoped: ScopedPath, parts: readonly string[], use: (folder: Folder) => T): T {
    const folder = openFolder(scoped.root, parts, walkOptions(this.#view, scoped));
    try {
      return use(folder);
    } finally {
      closeFolder(folder);
    }
  }

  #guarded<T>(scoped: ScopedPath, step: () => T): T {
    try {
      return step();
    } catch (error) {
      throw this.#explained(scoped, error);
    }
  }

  /** What the walk found in the way, as a sentence. */
  #explained(scoped: ScopedPath, error: unknown): unknown {
    if (!(error instanceof WalkError)) return error;
    return error.kind === "missing"
      ? new FileNotFound(this.#notFound(scoped), { cause: error })
      : refusalOf(scoped.path, error);
  }

  /** Says which name is missing, and what in the folder above comes near. */
  #notFound(scoped: ScopedPath): string {
    for (let up = 1; up <= scoped.parts.length; up++) {
      const above = scopedAbove(this.#view, scoped, up);
      const names = this.#visibleNames(above);
      if (!names) continue;
      const near = closest(scoped.parts.at(-up) ?? "", names, 5);
      const where = above.path || "the top folder";
      const there = near.length > 0 ? `In ${where} there is: ${near.join(", ")}.` : `There is nothing in ${where}.`;
      return `There is no ${scoped.path}.${this.#earlier(scoped)} ${there}`;
    }
    return `There is no ${scoped.path}.${this.#earlier(scoped)}`;
  }

  /** Plain paths begin in the run: what is missing there may be in a run before, for those who may read it. */
  #earlier({ parts }: ScopedPath): string {
    const { top, aliases, table } = this.#view;
    const number = Number(top[1]?.slice("run-".length));
    const isInRun = top[0] === "runs" && top[1] === parts[1] && aliases.get("agent")?.length === 0;
    if (!isInRun) return "";
    for (let run = number - 1; run > Math.max(0, number - 1 - MOST_EARLIER); run--) {
      const there = ["runs", `run-${run}`, ...parts.slice(2)];
      const isReadable = table.judge(there).access !== "none";
      const path = ["agent", ...there].join("/");
      if (isReadable && this.#mountAt(path, there).length > 0) return ` An earlier run has it: ${path}.`;
    }
    return "";
  }

  /** Undefined where the folder cannot be opened. Few enough to look at each at once. */
  #visibleNames(scoped: ScopedPath): string[] | undefined {
    try {
      return this.#inFolder(scoped, scoped.parts, (folder) => {
        const mounts = isTop(this.#view, scoped) ? this.#mounts() : [];
        const { children } = childrenOf(folder, MOST_SUGGESTED);
        const found = children.flatMap(({ name }) => entryOf(this.#view, scoped, folder, name)?.entry ?? []);
        return [...mounts, ...found].map(({ path, kind }) => {
          const name = path.slice(path.lastIndexOf("/") + 1);
          return kind === "folder" ? `${name}/` : name;
        });
      });
    } catch (error) {
      if (error instanceof WalkError || error instanceof ScopeRefusal) return undefined;
      throw error;
    }
  }
}
