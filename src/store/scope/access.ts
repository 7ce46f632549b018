export type Access = "none" | "read" | "write";

/**
 * One row of a scope's table. `at` is a path from the agent's folder: `*` matches any one name or a part of it, a final
 * `/**` for the folder and all below it. `why` is told when the row forbids something.
 */
export interface AccessRow {
  at: string;
  access: Access;
  why: string;
}

export interface Judgement {
  access: Access;
  why: string;
  /** Folders below this depth may be made on the way to a new file. */
  createFrom: number;
}

/**
 * ACCESS-1. The first matching row decides; without one there is no access.
 * ACCESS-2. A path that matches a row except for upper and lower case gets no access: on some disks it is the same
 *     file.
 * ACCESS-3. The folder a `/**` row starts at may be read, but not replaced by a file.
 */
export class AccessTable {
  readonly #rows: readonly CompiledRow[];

  constructor(rows: readonly AccessRow[]) {
    this.#rows = rows.map(compile);
  }

  judge(parts: readonly string[]): Judgement {
    const folded = parts.map(fold);
    for (const row of this.#rows) {
      if (matches(row.exact, row.open, parts)) {
        const atStart = row.open && parts.length === row.exact.length;
        const access = atStart && row.access === "write" ? "read" : row.access;
        const createFrom = row.open ? row.exact.length : Number.POSITIVE_INFINITY;
        return { access, why: atStart && row.access === "write" ? "It is a folder." : row.why, createFrom };
      }
      if (matches(row.folded, row.open, folded)) {
        return {
          access: "none",
          why: `Upper and lower case count: it is written ${row.at}.`,
          createFrom: Number.POSITIVE_INFINITY,
        };
      }
    }
    return { access: "none", why: "It is not part of your scope.", createFrom: Number.POSITIVE_INFINITY };
  }

  /** Is something readable below here? Then the folder may be listed, showing only what leads there. */
  leadsToReadable(parts: readonly string[]): boolean {
    return this.#rows.some(
      (row) =>
        row.access !== "none" &&
        parts.length < row.exact.length &&
        matches(row.exact.slice(0, parts.length), false, parts),
    );
  }
}

interface Pattern {
  test(name: string): boolean;
}

interface CompiledRow extends AccessRow {
  exact: readonly Pattern[];
  folded: readonly Pattern[];
  /** Ends with `/**`. */
  open: boolean;
}

function compile(row: AccessRow): CompiledRow {
  const open = row.at === "**" || row.at.endsWith("/**");
  const names = row.at.split("/").slice(0, open ? -1 : undefined);
  return { ...row, open, exact: names.map(patternOf), folded: names.map((name) => patternOf(fold(name))) };
}

/** Most names stand for themselves; a regular expression costs a hundred times as much to make, and there is one table a worker. */
function patternOf(name: string): Pattern {
  if (!name.includes("*")) return { test: (other) => other === name };
  return new RegExp(`^${name.replace(/[\\^$.|?+()[\]{}]/g, "\\$&").replaceAll("*", ".*")}$`, "su");
}

function matches(patterns: readonly Pattern[], open: boolean, parts: readonly string[]): boolean {
  if (open ? parts.length < patterns.length : parts.length !== patterns.length) return false;
  return patterns.every((pattern, i) => pattern.test(parts[i] ?? ""));
}

/** Upper case first: it brings together letters that lower case alone leaves apart, like ſ and s. */
function fold(name: string): string {
  return name.normalize("NFKC").toUpperCase().toLowerCase();
}
