import type { BigIntStats } from "node:fs";
import { type Folder, glance } from "../disk/folder.ts";
import { FolderChain } from "../disk/folder-chain.ts";
import { type FolderVisitor, walkTree } from "../disk/tree-walk.ts";
import type { WalkOptions } from "../disk/walk.ts";
import { UNFINISHED } from "../disk/whole-file.ts";
import { IgnoreReader, type IgnoreRules } from "./ignore-rules.ts";
import type { ListedFile, Listing, ListOptions } from "./scope.ts";
import { isHome, notTheHome, type ScopedPath, type ScopeRules, scopedChild } from "./scoped-path.ts";

const MAX_NAMES_IN_A_FOLDER = 10_000;

/** What a folder holds, as one participant sees it; it was checked that it may be listed. */
export async function listingOf(
  view: ScopeRules,
  scoped: ScopedPath,
  options: ListOptions,
  mounts: readonly ListedFile[],
): Promise<Listing> {
  const { recursive = false, limit, ignored } = options;
  const entries = [...mounts];
  const below = new Map<string, FolderBelow>();
  const ignoring = ignored === "skipped" ? await Ignoring.at(scoped) : undefined;
  const look: FolderVisitor = async (folder, parts, names, slices) => {
    const key = parts.join("/");
    const here = below.get(key) ?? { scoped, rules: ignoring?.above };
    below.delete(key);
    const rules = await ignoring?.within(folder, parts, names, here.rules, slices);
    const folders: string[] = [];
    for (const name of names) {
      if (slices.isDue) await slices.rest();
      const found = entryOf(view, here.scoped, folder, name);
      if (!found || ignoring?.skips(rules, [...parts, name], found.entry)) continue;
      if (entries.length >= limit) return "stop";
      entries.push(found.entry);
      if (!recursive || found.entry.kind !== "folder") continue;
      if (ignored !== "opened" && isLeftClosed(here.scoped, name)) continue;
      folders.push(name);
      below.set([...parts, name].join("/"), { scoped: found.scoped, rules });
    }
    return folders;
  };
  using chain = new FolderChain(scoped.root, scoped.parts, walkOptions(view, scoped));
  const { more, tooDeep } = await walkTree(chain, look, { namesInOne: MAX_NAMES_IN_A_FOLDER });
  const shown = entries.slice(0, limit).sort((a, b) => (a.path < b.path ? -1 : 1));
  const deep = tooDeep && { tooDeep: [...scoped.names, ...tooDeep].join("/") };
  return { entries: shown, more: more || entries.length > limit, ...deep, ...ignoring?.summary };
}

interface FolderBelow {
  scoped: ScopedPath;
  rules: IgnoreRules | undefined;
}

/** What one listing leaves out because git ignores it. */
class Ignoring {
  readonly above: IgnoreRules | undefined;
  readonly #reader: IgnoreReader;
  readonly #names: readonly string[];
  #skipped = 0;

  private constructor(reader: IgnoreReader, names: readonly string[], above: IgnoreRules | undefined) {
    this.#reader = reader;
    this.#names = names;
    this.above = above;
  }

  /** Undefined where the folder itself is ignored: it was named, so what is in it is wanted. */
  static async at({ root, parts, isProject }: ScopedPath): Promise<Ignoring | undefined> {
    const reader = new IgnoreReader();
    const { names, rules, isIgnored } = await reader.above(root, parts, isProject);
    return isIgnored ? undefined : new Ignoring(reader, names, rules);
  }

  within(
    folder: Folder,
    parts: readonly string[],
    names: readonly string[],
    above: IgnoreRules | undefined,
    slices: Parameters<FolderVisitor>[3],
  ): Promise<IgnoreRules | undefined> {
    return this.#reader.within(
      folder,
      (name) => names.includes(name),
      this.#names.length + parts.length,
      above,
      slices,
    );
  }

  skips(rules: IgnoreRules | undefined, parts: readonly string[], { kind }: ListedFile): boolean {
    const isSkipped = this.#reader.isIgnored(rules, [...this.#names, ...parts], kind === "folder");
    if (isSkipped) this.#skipped += 1;
    return isSkipped;
  }

  get summary(): Pick<Listing, "skipped" | "isIgnoringPartly"> {
    return {
      ...(this.#skipped > 0 && { skipped: this.#skipped }),
      ...(this.#reader.isPartial && { isIgnoringPartly: true }),
    };
  }
}

/** A name in an open folder, as this participant sees it; undefined where it is not to be seen. */
export function entryOf(
  view: ScopeRules,
  scoped: ScopedPath,
  folder: Folder,
  name: string,
): { entry: ListedFile; scoped: ScopedPath } | undefined {
  const child = name.startsWith(UNFINISHED) ? undefined : scopedChild(view, scoped, name);
  const stats = child && glance(folder, name);
  if (!child || !stats || (scoped.isProject && stats.isDirectory() && isHome(view, stats))) return undefined;
  const kind = kindOf(stats);
  return { entry: { path: child.path, kind, bytes: kind === "file" ? Number(stats.size) : 0 }, scoped: child };
}

export function walkOptions(view: ScopeRules, scoped: ScopedPath): Pick<WalkOptions, "enter" | "anyForm"> {
  if (!scoped.isProject) return {};
  const enter: WalkOptions["enter"] = (stats) => {
    if (isHome(view, stats)) throw notTheHome(scoped.path);
  };
  return { enter, anyForm: true };
}

/** Dependencies of the user's project: thousands of files that nobody asked about. They can be listed by name. */
function isLeftClosed(scoped: ScopedPath, name: string): boolean {
  return scoped.isProject && name === "node_modules";
}

function kindOf(stats: BigIntStats): ListedFile["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : "special";
}
