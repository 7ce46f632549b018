import type { Database } from "./database.ts";

/** In one step: short enough that nobody waits for it. */
const MOST_AT_ONCE = 500;
const MOST_STEPS = 40;

/**
 * Removes contents that no file of any tree names any more. Returns how many; 0 where another host did it lately.
 *
 * CLEAN-1. Only what was put, or was wanted by somebody, more than a day ago; an hour for large ones, of which a file
 *     that grows leaves many.
 * CLEAN-2. Once an hour over all hosts, and so much at most in one step.
 * CLEAN-3. A content that a file comes to name meanwhile stays.
 */
export async function cleanContents(database: Database): Promise<number> {
  const [turn] = await database.query(
    `insert into chores (chore) values ('contents') on conflict (chore) do update set done = clock_timestamp()
     where chores.done < clock_timestamp() - interval '1 hour' returning 1`,
  );
  if (!turn) return 0;
  let removed = 0;
  for (let step = 0; step < MOST_STEPS; step++) {
    const rows = await database.query(CLEAN, [MOST_AT_ONCE]);
    removed += rows.length;
    if (rows.length < MOST_AT_ONCE) break;
  }
  return removed;
}

/** A file that comes to name one of them waits for its row, and then finds it gone: it is put again (ContentGoneError). */
const CLEAN = `
  delete from contents where hash in (
    select hash from contents as content
    where put < clock_timestamp() - case when size > 1048576 then interval '1 hour' else interval '1 day' end
      and not exists (select from files where files.hash = content.hash)
    order by put limit $1 for update skip locked
  ) returning 1`;
