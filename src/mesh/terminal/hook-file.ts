import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { z } from "zod";
import { type FolderWatch, watchFolder } from "../../store/disk/watch-folder.ts";

/** What Claude Code reports through its hooks, one JSON object per line; see `terminal-home.ts`. */
const hookSchema = z.object({
  hook_event_name: z.string(),
  prompt: z.string().optional(),
  session_id: z.uuid().optional().catch(undefined),
});
export type Hook = z.infer<typeof hookSchema>;

/** A file to which a program appends lines, followed as it grows. */
export class HookFile {
  readonly #path: string;
  readonly #onHook: (hook: Hook) => void;
  #watcher: FolderWatch | undefined;
  #at = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string, onHook: (hook: Hook) => void) {
    this.#path = path;
    this.#onHook = onHook;
  }

  /** Resolves when everything that is in the file now was reported. */
  async open(): Promise<void> {
    this.#watcher = watchFolder(dirname(this.#path), (name) => {
      if (name === null || name === basename(this.#path)) void this.read();
    });
    await this.read();
  }

  close(): void {
    this.#watcher?.close();
  }

  /** Reads on to where the file ends now. */
  read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readOn()).catch(() => {});
    return this.#reading;
  }

  async #readOn(): Promise<void> {
    const file = await open(this.#path).catch(() => undefined);
    if (!file) return;
    try {
      const { size } = await file.stat();
      while (this.#at < size) {
        const length = Math.min(size - this.#at, MOST);
        const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, this.#at);
        // Whole lines only: the rest may end in the middle of a character.
        const end = buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1;
        for (const line of buffer.toString("utf8", 0, end).split("\n")) this.#take(line);
        // A line that is longer than this is skipped; one that is still being written is read later.
        if (end === 0 && bytesRead < MOST) return;
        this.#at += end === 0 ? bytesRead : end;
      }
    } finally {
      await file.close();
    }
  }

  #take(line: string): void {
    const hook = hookIn(line);
    if (hook) this.#onHook(hook);
  }
}

/** The last conversation that the program's hooks named. */
export function lastSessionIn(text: string): string | undefined {
  return text
    .split("\n")
    .map(hookIn)
    .findLast((hook) => hook?.session_id !== undefined)?.session_id;
}

function hookIn(line: string): Hook | undefined {
  try {
    return line.trim() === "" ? undefined : hookSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

const MOST = 4 * 1024 * 1024;
