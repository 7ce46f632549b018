import { type FSWatcher, watch } from "node:fs";

/** A folder that is being watched. */
export interface FolderWatch {
  /** Called with the name that changed; null if it is not known which: look at everything. */
  onChange(name: string | null): void;
  close(): void;
}

/**
 * Watches a folder.
 *
 * WATCH-FOLDER-1. If the kernel allows no more watches (ENOSPC) or open files (EMFILE), or ends a watch, `onChange(null)`
 *     is called every second instead. Any other error, such as a folder that does not exist, is thrown.
 */
export function watchFolder(
  dir: string,
  onChange: FolderWatch["onChange"] = () => {},
  { persistent = true, begin = watch }: { persistent?: boolean; begin?: typeof watch } = {},
): FolderWatch {
  let watcher: FSWatcher | undefined;
  let polling: NodeJS.Timeout | undefined;
  const poll = () => {
    watcher?.close();
    polling ??= setInterval(() => folder.onChange(null), POLL_MS);
    if (!persistent) polling.unref();
  };
  const folder: FolderWatch = {
    onChange,
    close: () => {
      watcher?.close();
      clearInterval(polling);
    },
  };
  try {
    watcher = begin(dir, { persistent }, (_, name) => folder.onChange(name));
    watcher.on("error", poll);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EMFILE") throw error;
    poll();
  }
  return folder;
}

const POLL_MS = 1_000;
