import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryHome } from "../testing/temporary-home.ts";
import { checkEngine } from "./check-engine.ts";
import { cleanContents } from "./clean-contents.ts";
import { known, PART_BYTES, putLarge, putSmall } from "./contents.ts";
import { Database } from "./database.ts";
import { engineAddress } from "./engine-address.ts";
import { exportTree } from "./export-tree.ts";
import { rulesFor } from "./home-trees.ts";
import { importTree } from "./import-tree.ts";
import { ENGINE_VERSION, migrate } from "./migrations.ts";
import { addToStreams, FencedError } from "./streams.ts";
import { Postgres, withoutPostgres } from "./testing/postgres.ts";

const TREE = "agents/agent-abcd2345";
const RULES = rulesFor(TREE, [".claude/.credentials.json"]);
/** On a clock that stands still each question is answered at once, however busy this machine is. */
const CLOCKS = { now: Date.now, elapsed: () => 0 };

describe.skipIf(withoutPostgres)(`an engine ${withoutPostgres}`, () => {
  let postgres: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });
  const open = (schema = `test_${++schemas}`) => new Database(engineAddress(postgres.url(), schema));

  test("MIGRATION-1: many hosts that begin at once make its tables once", async () => {
    const schema = `test_${++schemas}`;
    const hosts = Array.from({ length: 5 }, () => open(schema));
    const made = await Promise.all(hosts.map(migrate));
    expect(made.map(({ to }) => to)).toEqual(hosts.map(() => ENGINE_VERSION));
    expect(made.filter(({ from }) => from === 0)).toHaveLength(1);
    await Promise.all(hosts.map((host) => host.close()));
  });

  test("MIGRATION-2: an engine of a later version is refused as it is", async () => {
    await using database = open();
    await migrate(database);
    await database.query("update engine_version set version = 99");
    await expect(migrate(database)).rejects.toThrow("used by a newer Agiraph (version 99 of its tables");
    const checks = await checkEngine(database, CLOCKS);
    expect(checks.find(({ what }) => what === "tables")).toMatchObject({ state: "problem" });
  });

  test("STREAM-1: of two who add at the same place one is refused and nothing of it is there", async () => {
    await using database = open();
    await migrate(database);
    await database.query("insert into trees (tree, state, epoch) values ($1, 'ready', 7)", [TREE]);
    const add = (at: number, text: string, epoch = 7) =>
      addToStreams(database, { tree: TREE, epoch }, [
        { path: "conversation.jsonl", at: 0, bytes: Buffer.alloc(0) },
        { path: "events.jsonl", at, bytes: Buffer.from(text) },
      ]);
    await add(0, "one\n");
    const both = await Promise.allSettled([add(4, "left\n"), add(4, "right\n")]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    for (const [at, epoch] of [
      [3, 7],
      [0, 7],
      [99, 7],
      [9, 6],
      [10, 8],
    ] as const)
      await expect(add(at, "x", epoch)).rejects.toThrow(FencedError);
    expect(await database.query("select count(*)::int as count from chunks")).toEqual([{ count: 2 }]);
  });

  test("a tree comes back as it went in, without what is made anew and without logins", async () => {
    await using database = open();
    await migrate(database);
    await using home = await temporaryHome();
    const from = tree(home.path, "from");
    const imported = await importTree(database, TREE, from, RULES);
    expect(imported).toMatchObject({ streams: 2, files: 6 });
    expect(imported.left.map(({ path }) => path)).toEqual([
      ".index",
      ".programs/run-1/clara/.claude/.credentials.json",
      "snapshots",
    ]);

    const to = join(home.path, "to");
    await exportTree(database, TREE, to);

    const left = new Set([".index", "snapshots", ".programs/run-1/clara/.claude/.credentials.json"]);
    const expected = seen(from).filter(
      ([path]) => ![...left].some((each) => path === each || path.startsWith(`${each}/`)),
    );
    expect(seen(to)).toEqual(expected);
  });

  test("IMPORT-2, EXPORT-2: what is there is not sent again, and only what has changed is", async () => {
    await using database = open();
    await migrate(database);
    await using home = await temporaryHome();
    const from = tree(home.path, "from");
    const to = join(home.path, "to");
    await importTree(database, TREE, from, RULES);
    await exportTree(database, TREE, to);
    writeFileSync(join(from, "events.jsonl"), "third\n", { flag: "a" });
    writeFileSync(join(from, "MEMORY.md"), "newer");
    expect((await importTree(database, TREE, from, RULES)).sentBytes).toBe("third\nnewer".length);
    writeFileSync(join(to, "from-another-time.md"), "old");
    expect((await exportTree(database, TREE, to)).writtenBytes).toBe("third\nnewer".length);
    expect(readFileSync(join(to, "events.jsonl"), "utf8")).toBe("first\nsecond\nthird\n");
    expect(readFileSync(join(to, "MEMORY.md"), "utf8")).toBe("newer");
    expect(readdirSync(to)).not.toContain("from-another-time.md");
  });

  test("IMPORT-3: a record of which the engine has more, or another, is refused and stays", async () => {
    await using database = open();
    await migrate(database);
    await using home = await temporaryHome();
    const from = tree(home.path, "from");
    await importTree(database, TREE, from, RULES);
    for (const other of ["first\n", "first\nsecond!", "fir5t\nsecond\nthird\n"]) {
      writeFileSync(join(from, "events.jsonl"), other);
      await expect(importTree(database, TREE, from, RULES)).rejects.toThrow(
        "has records in events.jsonl that this home",
      );
    }
    const [chunk] = await database.query<{ bytes: Buffer }>("select bytes from chunks where path = 'events.jsonl'");
    expect(chunk?.bytes.toString()).toBe("first\nsecond\n");
  });

  test("IMPORT-1: content that is not what its name says never counts, and is sent again", async () => {
    await using database = open();
    await migrate(database);
    await using home = await temporaryHome();
    const from = tree(home.path, "from");
    await importTree(database, TREE, from, RULES);
    // As a damaged table would have it, after an import that was interrupted.
    await database.query("update parts set bytes = '\\x00' where number = 1");
    await database.query("update contents set is_whole = false where size > 2000000");
    expect((await importTree(database, TREE, from, RULES)).sentBytes).toBe(LARGE.length);
    const to = join(home.path, "to");
    await exportTree(database, TREE, to);
    expect(readFileSync(join(to, "large.bin")).equals(LARGE)).toBe(true);
    await database.query("update parts set bytes = '\\x00' where number = 1");
    await expect(exportTree(database, TREE, join(home.path, "again"))).rejects.toThrow("is damaged");
    expect(readdirSync(join(home.path, "again"))).not.toContain("large.bin");
  });

  test("CLEAN-1: contents that nothing names go after a day, large ones after an hour, and what is wanted stays", async () => {
    await using database = open();
    await migrate(database);
    await using home = await temporaryHome();
    await importTree(database, TREE, tree(home.path, "from"), RULES);
    const hashOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    const [old, young, wanted, oldLarge] = ["outdated", "young", "wanted"]
      .map((text) => Buffer.from(text))
      .concat(LARGE2);
    if (!old || !young || !wanted || !oldLarge) throw new Error("four are there");
    await putSmall(database, [old, young, wanted]);
    expect(
      await putLarge(
        database,
        hashOf(LARGE2),
        LARGE2.length,
        (async function* () {
          for (let at = 0; at < LARGE2.length; at += PART_BYTES) yield LARGE2.subarray(at, at + PART_BYTES);
        })(),
      ),
    ).toBe(true);
    const age = (hash: string, by: string) =>
      database.query("update contents set put = put - $2::interval where hash = $1", [Buffer.from(hash, "hex"), by]);
    const named = await database.query(
      "update contents set put = put - interval '3 days' where hash in (select hash from files) returning 1",
    );
    for (const each of [old, wanted]) await age(hashOf(each), "25 hours");
    await age(hashOf(young), "23 hours");
    await age(hashOf(LARGE2), "2 hours");
    expect(await known(database, [hashOf(wanted)])).toEqual(new Set([hashOf(wanted)]));
    expect(await cleanContents(database)).toBe(2);
    expect(await known(database, [old, young, wanted, LARGE2].map(hashOf))).toEqual(
      new Set([young, wanted].map(hashOf)),
    );
    expect((await database.query("select from contents")).length).toBe(named.length + 2);
    // CLEAN-2: another host asks.
    await age(hashOf(young), "23 hours");
    expect(await cleanContents(database)).toBe(0);
    await exportTree(database, TREE, join(home.path, "to"));
  });

  test("a tree that is being imported is nobody's to work on", async () => {
    await using database = open();
    await migrate(database);
    await database.query("insert into trees (tree, state) values ($1, 'moving')", [TREE]);
    await database.query("insert into hosts (host, name) values ('00000000-0000-0000-0000-000000000001', 'one')");
    const claim = () =>
      database.query("select claim_tree($1, '00000000-0000-0000-0000-000000000001', '10 seconds') as epoch", [TREE]);
    expect(await claim()).toEqual([{ epoch: null }]);
    await database.query("update trees set state = 'ready'");
    expect(await claim()).toEqual([{ epoch: "1" }]);
  });

  test.each([
    ["../out", "file"],
    ["a/../../out", "file"],
    ["link/out", "file"],
  ])("nobody who writes to the engine writes outside the folder: %s", async (path) => {
    await using database = open();
    await migrate(database);
    await using home = await temporaryHome();
    mkdirSync(join(home.path, "elsewhere"));
    const from = tree(home.path, "from");
    await importTree(database, TREE, from, RULES);
    await database.query("update files set target = $1 where kind = 'link'", [join(home.path, "elsewhere")]);
    await database.query("update files set path = $1 where path = 'MEMORY.md'", [path]);
    await expect(exportTree(database, TREE, join(home.path, "to"))).rejects.toThrow(/leads elsewhere|no folder/);
    expect(readdirSync(join(home.path, "elsewhere"))).toEqual([]);
    expect(readdirSync(home.path)).not.toContain("out");
  });

  test("what keeps a host from an engine is said with what to do", async () => {
    await using good = open();
    const checks = await checkEngine(good, CLOCKS);
    expect(checks.filter(({ state }) => state !== "ok")).toEqual([]);
    await using stranger = new Database(engineAddress(postgres.url("postgres", "wrong")));
    await using nowhere = new Database(engineAddress("postgres://agiraph@127.0.0.1:1/agiraph"));
    await using missing = new Database(engineAddress(postgres.url("nothing")));
    const said = await Promise.all([stranger, nowhere, missing].map((each) => checkEngine(each, CLOCKS)));
    expect(said.map((all) => all.map(({ what, state }) => [what, state]))).toEqual([
      [["connection", "problem"]],
      [["connection", "problem"]],
      [["connection", "problem"]],
    ]);
    expect(said.map(([first]) => first?.text)).toEqual([
      expect.stringContaining("Check the user and the password"),
      expect.stringContaining("the connection was refused"),
      expect.stringContaining("createdb nothing"),
    ]);
    expect(JSON.stringify(said)).not.toContain("wrong@");
  });

  test("a clock that differs and a role without rights are found", async () => {
    await using database = open();
    const ahead = await checkEngine(database, { ...CLOCKS, now: () => Date.now() + 900_000 });
    expect(ahead.find(({ what }) => what === "clock")).toMatchObject({
      state: "warning",
      text: expect.stringContaining("900 s"),
    });
    await database.query("create role guest login password 'guest'");
    await database.query("revoke create on database postgres from public");
    const url = postgres.url("postgres", "guest").replace("agiraph:", "guest:");
    await using guest = new Database(engineAddress(url, "elsewhere"));
    expect((await checkEngine(guest, CLOCKS)).find(({ what }) => what === "rights")).toEqual({
      what: "rights",
      state: "problem",
      text: "There is no schema elsewhere, and guest may not create it. As an administrator: create schema elsewhere authorization guest",
    });
    await expect(migrate(guest)).rejects.toThrow("needs a schema of its own");
  });

  test("DATABASE-3: an engine that fails in the middle of a transaction has changed nothing, and is used again", async () => {
    await using database = open();
    await migrate(database);
    const failing = database.transaction(async (queries) => {
      await queries.query("insert into trees (tree, state) values ($1, 'ready')", [TREE]);
      await postgres.down();
      await queries.query("select 1");
    });
    await expect(failing).rejects.toThrow();
    await expect(database.query("select 1")).rejects.toThrow(/cannot be reached|did not answer/);
    await postgres.up();
    expect(await database.query("select * from trees")).toEqual([]);
  });
});

test.each([
  ["http://example.org/agiraph", undefined, "not that of a PostgreSQL database"],
  ["agiraph", undefined, "not that of a PostgreSQL database"],
  ["postgres://example.org/", undefined, "names no database"],
  ["postgres://example.org/agiraph", "Robert; drop schema", "cannot be the name of a schema"],
])("%s is refused as an address", (text, schema, why) => {
  expect(() => engineAddress(text, schema)).toThrow(why);
});

test("an address is shown without its password", () => {
  const { shown, url } = engineAddress("postgres://me:secret@example.org/agiraph", "other");
  expect([shown, url.includes("secret")]).toEqual(["postgres://me@example.org/agiraph (schema other)", true]);
});

const LARGE2 = Buffer.alloc(2_500_000, "another ");
const LARGE = Buffer.alloc(2_500_000, "large ");

/** Of every kind, and what must not come along. */
function tree(home: string, name: string): string {
  const root = join(home, name);
  const write = (path: string, content: string | Buffer, mode = 0o600) => {
    mkdirSync(join(root, path, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(join(root, path), content, { mode });
  };
  write("events.jsonl", "first\nsecond\n");
  write("runs/run-1/workers/clara/conversation.jsonl", "hello\n");
  write("MEMORY.md", "old");
  write("same-again.md", "old");
  write("empty.md", "");
  write("run.sh", "#!/bin/sh\n", 0o700);
  write("large.bin", LARGE);
  write("ünïcode 名.md", "name");
  write(".index/memory.sqlite", "x");
  write("snapshots/board.json", "x");
  write(".programs/run-1/clara/.claude/.credentials.json", "a secret");
  mkdirSync(join(root, "repo.git/refs/heads"), { recursive: true, mode: 0o700 });
  symlinkSync("MEMORY.md", join(root, "link"));
  return root;
}

function seen(root: string): [path: string, mode: number, content: string][] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .map((entry): [string, number, string] => {
      const path = join(entry.parentPath, entry.name);
      const content = entry.isFile() ? readFileSync(path, "base64") : entry.isSymbolicLink() ? "link" : "folder";
      return [path.slice(root.length + 1), entry.isSymbolicLink() ? 0 : statSync(path).mode & 0o777, content];
    })
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
