/** What can go wrong with the home. Each message says what happened, to what, and what to do next. */

/** The record could not be written: everything that depends on it must stop. */
export class StoreError extends Error {}

/** STORE-4: another append came first. Nothing was changed. */
export class FenceError extends StoreError {
  override readonly name = "FenceError";
  constructor(agent: string, expected: number, seq: number) {
    super(
      `${agent} is at fact ${seq}, not ${expected}: another writer appended first. Read the new facts, then decide again.`,
    );
  }
}

/** STORE-5: a write or a sync failed, so what is on disk is no longer certain; or the home was opened read-only. */
export class ReadOnlyError extends StoreError {
  override readonly name = "ReadOnlyError";
}

/** There was no room. Nothing of the batch was acknowledged or kept; the next append may succeed. */
export class DiskFullError extends StoreError {
  override readonly name = "DiskFullError";
  constructor(root: string, cause: unknown) {
    super(`No space left for ${root}. The unfinished write was undone; free some space and try again.`, {
      cause,
    });
  }
}

/** The folder is not there, and cannot be made where it was named. */
export class HomeNotMadeError extends Error {
  override readonly name = "HomeNotMadeError";
  constructor(root: string, code: string, cause: unknown) {
    super(`The home ${root} cannot be created (${code}). Name another folder with --home or AGIRAPH_HOME.`, { cause });
  }
}

/** No file could be opened. Nothing of the batch was acknowledged or kept; the next append may succeed. */
export class TooManyFilesError extends StoreError {
  override readonly name = "TooManyFilesError";
  constructor(root: string, cause: unknown) {
    super(
      `Too many files are open to write to ${root}. The unfinished write was undone; try again, or raise the limit (ulimit -n).`,
      { cause },
    );
  }
}

/** One home, one writer (HOME-1). */
export class HomeLockedError extends Error {
  override readonly name = "HomeLockedError";
  readonly pid: number | undefined;
  constructor(root: string, pid: number | undefined, state: "held" | "perhaps no locks" = "held") {
    const who = pid === undefined ? "another process" : `pid ${pid}`;
    const doubt =
      state === "held"
        ? ""
        : " If no such process is running, the file system has no file locks (some network mounts have none): put the home on a local disk.";
    super(`The home ${root} is in use by ${who}. Stop it, or choose another home with --home or AGIRAPH_HOME.${doubt}`);
    this.pid = pid;
  }
}

/** Something was written by a later version of Agiraph. Nothing was touched. */
export class NewerVersionError extends Error {
  override readonly name = "NewerVersionError";
  constructor(what: string, found: number | string, known: number) {
    super(
      `${what} was written by a newer Agiraph (format ${found}; this one knows up to ${known}). Nothing was changed; update Agiraph to open it.`,
    );
  }
}

export class NotFoundError extends Error {
  override readonly name = "NotFoundError";
}

/** A caller's mistake that the store refuses: a bad file name, an append after close. */
export class StoreUsageError extends StoreError {
  override readonly name = "StoreUsageError";
}
