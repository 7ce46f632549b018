import type { OpenFile } from "../disk/walk.ts";
import type { FileContent, Listing, ListOptions, Scope, ScopeBinds } from "./scope.ts";

interface Joined {
  /** Where plain paths begin, and commands. */
  first: Scope;
  other: Scope;
  /** First names of the paths that lead to the other one. */
  names: ReadonlySet<string>;
  /** Paths that begin like one of these lead to the other one too: as they are written in instructions. */
  prefixes: readonly string[];
  named: Readonly<Record<string, string>>;
  describe(): string;
}

/**
 * Two places of one participant: a clone of the repository, and the folder of what belongs to its team.
 *
 * JOINED-SCOPE-1. Each path leads to exactly one of them, by how it is written, and is judged by that one alone.
 * JOINED-SCOPE-2. `project/…` is the clone: nobody reads the person's folder for it, or writes there.
 */
export class JoinedScope implements Scope {
  readonly #joined: Joined;

  constructor(joined: Joined) {
    this.#joined = joined;
  }

  readFile(path: string, options: { maxBytes: number }): Promise<FileContent> {
    const [scope, at] = this.#placeOf(path);
    return scope.readFile(at, options);
  }

  openFile(path: string): OpenFile {
    const [scope, at] = this.#placeOf(path);
    return scope.openFile(at);
  }

  openChecked(path: string): Promise<OpenFile> {
    const [scope, at] = this.#placeOf(path);
    return scope.openChecked(at);
  }

  writeFile(path: string, content: string | Uint8Array): Promise<{ bytes: number }> {
    const [scope, at] = this.#placeOf(path);
    return scope.writeFile(at, content);
  }

  list(path: string, options: ListOptions): Promise<Listing> {
    const [scope, at] = this.#placeOf(path);
    return scope.list(at, options);
  }

  describe(): string {
    return this.#joined.describe();
  }

  get cwd(): string {
    return this.#joined.first.cwd;
  }

  get top(): string {
    return this.#joined.first.top;
  }

  get named(): Readonly<Record<string, string>> {
    return this.#joined.named;
  }

  async binds(): Promise<ScopeBinds> {
    const { first, other } = this.#joined;
    const [a, b] = await Promise.all([first.binds(), other.binds()]);
    const laidOut = [...(a.laidOut ?? []), ...(b.laidOut ?? [])];
    const omitted = [...(a.omitted ?? []), ...(b.omitted ?? [])];
    return {
      ...{ write: [...a.write, ...b.write], read: [...a.read, ...b.read], hide: [...a.hide, ...b.hide] },
      ...{ laidOut, omitted, cwd: a.cwd },
    };
  }

  #placeOf(path: string): [scope: Scope, at: string] {
    const { first, other, names, prefixes } = this.#joined;
    const plain = path.replace(/^(?:\.\/)+/, "");
    const [name = "", ...rest] = plain.split("/");
    if (names.has(name) || prefixes.some((prefix) => `${plain}/`.startsWith(`${prefix}/`))) return [other, plain];
    // The name alone stands for what a plain path shows already (it is refused there, as where there is no project).
    return [first, name === "project" && rest.length > 0 ? rest.join("/") : plain];
  }
}
