import { fstatSync } from "node:fs";
import { closeFolder, enterChild, type Folder } from "./folder.ts";
import { openFolder, type WalkOptions } from "./walk.ts";

/** How deep a walk over a whole tree goes. What is deeper is reported as not visited. */
export const DEEPEST = 64;

/**
 * The folders on the way to the one that is being read, all open. The next one is entered from the nearest of them, so
 * a walk opens each folder once, however deep it is: opening each from the root made a chain of 3,000 folders cost 4.5
 * million opens.
 *
 * CHAIN-1. The rules of walk.ts hold: one name at a time, no link followed, and `enter` sees each folder it opens.
 * CHAIN-2. It holds at most as many descriptors as the tree is deep; the caller limits the depth.
 */
export class FolderChain implements Disposable {
  readonly #root: Folder;
  readonly #open: { name: string; folder: Folder }[] = [];
  readonly #enter: WalkOptions["enter"];

  constructor(root: string, parts: readonly string[], options: Pick<WalkOptions, "enter" | "anyForm"> = {}) {
    this.#root = openFolder(root, parts, options);
    this.#enter = options.enter;
  }

  /** The folder at these names below the root. It stays the chain's: nobody else closes it. */
  folderAt(parts: readonly string[]): Folder {
    let same = 0;
    while (same < parts.length && this.#open[same]?.name === parts[same]) same++;
    this.#closeFrom(same);
    let folder = this.#open.at(-1)?.folder ?? this.#root;
    for (const name of parts.slice(same)) {
      folder = enterChild(folder, name);
      this.#open.push({ name, folder });
      this.#enter?.(fstatSync(folder.fd, { bigint: true }));
    }
    return folder;
  }

  [Symbol.dispose](): void {
    this.#closeFrom(0);
    closeFolder(this.#root);
  }

  #closeFrom(depth: number): void {
    for (const { folder } of this.#open.splice(depth)) closeFolder(folder);
  }
}
