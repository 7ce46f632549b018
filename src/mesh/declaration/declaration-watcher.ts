import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FolderWatch, watchFolder } from "../../store/disk/watch-folder.ts";
import type { Layout } from "../files/layout.ts";

/** Notices when declarations may have changed: configs, prompts, capabilities, gates, folders that come and go. */
export class DeclarationWatcher {
  readonly #layout: Layout;
  readonly #changed: () => void;
  readonly #watched = new Map<string, FolderWatch>();
  #timer: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(layout: Layout, changed: () => void) {
    this.#layout = layout;
    this.#changed = changed;
  }

  /** Watches the folders that are there now. */
  async refresh(): Promise<void> {
    const wanted = new Set(await this.#folders());
    if (!this.#isOpen) return;
    for (const [dir, watcher] of this.#watched) {
      if (wanted.has(dir)) continue;
      watcher.close();
      this.#watched.delete(dir);
    }
    for (const dir of wanted) this.#watch(dir);
  }

  close(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
    for (const watcher of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  #watch(dir: string): void {
    if (this.#watched.has(dir)) return;
    try {
      const watcher = watchFolder(dir, () => {
        // A folder that was deleted and made again needs a new watch.
        if (!existsSync(dir)) this.#drop(dir);
        this.#reportSoon();
      });
      this.#watched.set(dir, watcher);
    } catch {
      // It is not there any more.
    }
  }

  #drop(dir: string): void {
    this.#watched.get(dir)?.close();
    this.#watched.delete(dir);
  }

  /** An editor causes several events with one save. */
  #reportSoon(): void {
    if (!this.#isOpen || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#changed();
    }, SAVE_MS);
    this.#timer.unref();
  }

  async #folders(): Promise<string[]> {
    const { configs, agents, capabilities, gates, project } = this.#layout;
    const declared = dirname(configs);
    if (!existsSync(declared)) return [project];
    const below = await foldersBelow(agents, 3);
    return [declared, configs, agents, capabilities, gates, ...below].filter((dir) => existsSync(dir));
  }
}

const SAVE_MS = 100;

async function foldersBelow(dir: string, depth: number): Promise<string[]> {
  if (depth === 0) return [];
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const own = entries.filter((entry) => entry.isDirectory()).map((entry) => join(dir, entry.name));
  const below = await Promise.all(own.map((folder) => foldersBelow(folder, depth - 1)));
  return [...own, ...below.flat()];
}
