import { createHash } from "node:crypto";
import { z } from "zod";
import type { Queries } from "./database.ts";
import { sha256 } from "./streams.ts";

/** Content is sent, and compared, in parts of this size. */
export const PART_BYTES = 1024 * 1024;

/** Which of these hashes have their content in the engine. They stay for a while, also if nothing names them yet. */
export async function known(queries: Queries, hashes: readonly string[]): Promise<Set<string>> {
  const rows = await queries.query(
    `with kept as (
       update contents set put = clock_timestamp() where hash in (
         select hash from contents
         where is_whole and hash = any ($1::bytea[]) and put < clock_timestamp() - interval '10 minutes'
         order by hash for no key update
       )
     )
     select encode(hash, 'hex') as hash from contents where is_whole and hash = any ($1::bytea[])`,
    [hashes.map((each) => Buffer.from(each, "hex"))],
  );
  return new Set(hashRows.parse(rows).map(({ hash }) => hash));
}

/** Many small ones at once; each fits into one part. The engine itself computes their names. */
export async function putSmall(queries: Queries, contents: readonly Uint8Array[]): Promise<void> {
  if (contents.length === 0) return;
  await queries.query(
    `with added as (
       insert into contents (hash, size, is_whole)
       select distinct sha256(bytes), length(bytes), true from unnest($1::bytea[]) as bytes order by 1
       on conflict (hash) do update set is_whole = true, put = clock_timestamp()
     )
     insert into parts (hash, number, bytes)
     select distinct sha256(bytes), 0, bytes from unnest($1::bytea[]) as bytes where length(bytes) > 0
     on conflict do nothing`,
    [contents],
  );
}

/**
 * Sends a large one part by part, and says whether it is there then.
 *
 * CONTENT-1. It counts as there when the engine has all parts that were read, and their hash is its name: not if the
 *     file was changed between the computing of its name and the sending.
 * CONTENT-2. Parts that an interrupted call has left are not sent again.
 */
export async function putLarge(
  queries: Queries,
  hash: string,
  size: number,
  parts: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  const name = Buffer.from(hash, "hex");
  const keep = () =>
    queries.query(
      "insert into contents (hash, size) values ($1, $2) on conflict (hash) do update set put = clock_timestamp()",
      [name, size],
    );
  await keep();
  const there = await partMarks(queries, name);
  const whole = createHash("sha256");
  let number = 0;
  for await (const bytes of parts) {
    whole.update(bytes);
    const mark = sha256(bytes);
    if (there.get(number) !== mark)
      await queries.query(
        "insert into parts (hash, number, bytes) values ($1, $2, $3) on conflict (hash, number) do update set bytes = $3",
        [name, number, bytes],
      );
    there.set(number, mark);
    number++;
    if (number % PARTS_BETWEEN === 0) await keep();
  }
  const isRight = whole.digest("hex") === hash && isSame(await partMarks(queries, name), there);
  await queries.query(
    isRight
      ? "update contents set is_whole = true where hash = $1"
      : "delete from contents where hash = $1 and not is_whole",
    [name],
  );
  return isRight;
}

/** However long the whole of it takes, it is not cleaned away meanwhile. */
const PARTS_BETWEEN = 64;

/** Of these hashes: the contents of one part that is small. */
export async function smallContents(queries: Queries, hashes: readonly string[]): Promise<Map<string, Buffer>> {
  const rows = await queries.query<{ hash: string; bytes: Buffer }>(
    `select encode(hash, 'hex') as hash, bytes from contents join parts using (hash)
     where hash = any ($1::bytea[]) and size <= $2 and number = 0`,
    [hashes.map((each) => Buffer.from(each, "hex")), SMALL_BYTES],
  );
  return new Map(rows.map(({ hash, bytes }) => [hash, bytes]));
}

const SMALL_BYTES = 64 * 1024;

/** The parts in order. */
export async function* partsOf(queries: Queries, hash: string): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const [row] = await queries.query<{ bytes: Buffer }>("select bytes from parts where hash = $1 and number = $2", [
      Buffer.from(hash, "hex"),
      number,
    ]);
    if (!row) return;
    yield row.bytes;
  }
}

async function partMarks(queries: Queries, name: Buffer): Promise<Map<number, string>> {
  const rows = await queries.query(
    "select number, encode(sha256(bytes), 'hex') as hash from parts where hash = $1 order by number",
    [name],
  );
  return new Map(partRows.parse(rows).map(({ number, hash }) => [number, hash]));
}

function isSame(one: ReadonlyMap<number, string>, other: ReadonlyMap<number, string>): boolean {
  return one.size === other.size && [...one].every(([number, mark]) => other.get(number) === mark);
}

const hashRows = z.array(z.object({ hash: z.string() }));
const partRows = z.array(z.object({ number: z.number(), hash: z.string() }));
