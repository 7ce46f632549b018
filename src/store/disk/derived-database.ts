import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { oneAtATime } from "../../boundary/one-at-a-time.ts";
import { isDiskFull } from "./disk.ts";

/**
 * A database that can be rebuilt from other files: it may be deleted, damaged or out of date at any time.
 *
 * DERIVED-DB-1. An opened database has exactly this schema: any other is deleted and rebuilt.
 * DERIVED-DB-2. If no file can be kept (a read-only or full disk, another process that uses it), the work is done in
 *     memory.
 * DERIVED-DB-3. Reading changes nothing on disk: an existing file is used if possible, otherwise memory.
 */
export async function withDerivedDatabase<T>(
  { path, schema, look = false }: { path: string | null; schema: string; look?: boolean },
  use: (database: DatabaseSync) => T | Promise<T>,
): Promise<T> {
  // Loaded by the first who needs it: most runs never search.
  const { DatabaseSync: Database } = await import("node:sqlite");
  const inMemory = async () => {
    const database = new Database(":memory:");
    try {
      database.exec(schema);
      return await use(database);
    } finally {
      database.close();
    }
  };
  if (path === null) return inMemory();
  // Another process that is at work on the same file is met as "busy".
  return oneAtATime(path, async () => {
    // Twice on disk: damage that shows only in use is repaired by starting over.
    for (let tries = 0; tries < (look ? 1 : 2); tries++) {
      try {
        return await onDisk(Database, { path, schema, keep: look || tries === 0, look }, use);
      } catch (error) {
        if (!isDatabaseError(error)) throw error;
        if (isBusy(error)) break;
      }
    }
    return inMemory();
  });
}

async function onDisk<T>(
  Database: typeof DatabaseSync,
  { path, schema, keep, look }: { path: string; schema: string; keep: boolean; look: boolean },
  use: (database: DatabaseSync) => T | Promise<T>,
): Promise<T> {
  if (!look) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (!keep) removeDatabase(path);
  let database = new Database(path, { readOnly: look });
  try {
    if (markOf(database) !== markFor(schema)) {
      if (look) throw Object.assign(new Error("not as it should be"), { code: "ERR_SQLITE_ERROR" });
      database.close();
      removeDatabase(path);
      database = new Database(path);
      // Ordinary journalling: a process that is killed leaves it whole. Losing the last moments to a power cut costs nothing.
      database.exec(`pragma synchronous = normal; begin; ${schema}; pragma user_version = ${markFor(schema)}; commit;`);
    }
    return await use(database);
  } finally {
    if (database.isOpen) database.close();
  }
}

function removeDatabase(path: string): void {
  for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
}

function markOf(database: DatabaseSync): number {
  return Number(database.prepare("pragma user_version").get()?.user_version);
}

/** The schema is its own version: whatever was made by another text is of another version. */
function markFor(schema: string): number {
  let mark = 7;
  for (const character of schema) mark = (mark * 31 + (character.codePointAt(0) ?? 0)) % 0x7fff_fff1;
  return mark;
}

function isDatabaseError(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return (
    code === "ERR_SQLITE_ERROR" ||
    isDiskFull(error) ||
    ["EACCES", "EPERM", "EROFS", "EISDIR", "ERR_FS_EISDIR", "ENOTDIR", "EEXIST"].includes(code)
  );
}

/** Another process is at work on it: nothing is wrong with the file, and it is not ours to throw away now. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (error.errcode === 5 || error.errcode === 6);
}
