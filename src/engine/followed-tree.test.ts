import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NewFact } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import { FencedError } from "./streams.ts";
import { machine, type TestMachine } from "./testing/machine.ts";
import { Postgres, withoutPostgres } from "./testing/postgres.ts";
import { seenTree } from "./testing/seen-tree.ts";

const ID = "agent-abcd2345";
const NODE = "runs/run-1/nodes/node-1";
const LARGE = Buffer.alloc(2_500_000, "large ");
const by = { worker_id: "clara", node_id: "node-1" } as const;

const told: NewFact = { type: "agent.paused", data: {} };
const called: NewFact = { type: "tool.called", data: { ...by, call_id: "1", tool: "write", gist: "" } };
const ended: NewFact = { type: "tool.result", data: { ...by, call_id: "1", tool: "write", ok: true, ms: 1, gist: "" } };

describe.skipIf(withoutPostgres)(`files that follow the work ${withoutPostgres}`, () => {
  let postgres: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });
  const schema = () => `files_${++schemas}`;
  const host = (of: string, options: Parameters<typeof machine>[2] = { looks: false }) =>
    machine(postgres.url(), of, options);

  /** Dead from now on; the tree as the next host has it. */
  async function takenOver(from: TestMachine, to: TestMachine): Promise<AgentLog> {
    await from.silence();
    return to.store.open(ID);
  }

  test("FOLLOW-FILES-1: what was changed is in the engine with the result, and the next host has the same", async () => {
    const shared = schema();
    await using one = await host(shared);
    await using two = await host(shared);
    const log = await one.store.create(ID);
    write(log, "SOUL.md", "who");
    write(log, `${NODE}/scratch/deep/down/a.md`, "first");
    write(log, `${NODE}/scratch/run.sh`, "#!/bin/sh\n", 0o751);
    write(log, `${NODE}/scratch/locked.md`, "", 0o400);
    write(log, "runs/run-1/workers/clara/notebook.md", "note");
    symlinkSync("deep/down", join(log.dir, NODE, "scratch/link"));
    await log.append({ facts: [{ type: "agent.started", data: { why: "created", pid: 1 } }, ended] }).durable;
    const before = seenTree(log.dir);
    write(log, `${NODE}/scratch/after.md`, "no fact followed it");

    const taken = await takenOver(one, two);
    expect(seenTree(taken.dir)).toEqual(before);
    expect(Object.keys(before)).toContain(`${NODE}/scratch/deep/down/a.md`);
    expect(before[`${NODE}/scratch/run.sh`]).toMatch(/^751 /);
  });

  test("a tree that is given back in order is the same elsewhere, to the last byte", async () => {
    const shared = schema();
    await using one = await host(shared);
    await using two = await host(shared);
    const log = await one.store.create(ID);
    write(log, `${NODE}/scratch/large.bin`, LARGE);
    for (let n = 0; n < 700; n++) write(log, `${NODE}/scratch/many/${n % 7}/${n}.txt`, `number ${n}`);
    await log.append({ facts: [told, ended] }).durable;
    write(log, "memory/late.md", "written after the last fact");
    write(log, ".index/memory.sqlite", "made anew");
    const all = seenTree(log.dir, [".index"]);
    await one.store.close();
    expect(seenTree((await two.store.open(ID)).dir)).toEqual(all);
    expect((await two.database.query("select from files where is_behind")).length).toBe(0);
  });

  test("FOLLOW-FILES-2: wherever its host is killed, a fact is never there without the files that it names", async () => {
    const shared = schema();
    await using next = await host(shared);
    const outcomes: string[] = [];
    for (let steps = 0; outcomes.at(-1) !== "all" && steps < 40; steps++) {
      const id = `agent-kill${String(steps).padStart(4, "0")}` as const;
      await using one = await host(shared);
      const log = await one.store.create(id);
      write(log, `${NODE}/scratch/report.md`, "draft");
      await log.append({ facts: [ended] }).durable;
      const files = [
        { path: "large.bin", content: LARGE },
        { path: "report.md", content: Buffer.from(`final ${steps}`) },
      ];
      for (const { path, content } of files) write(log, `${NODE}/.copy/${path}`, content, 0o400);
      const manifest = files.map(({ path, content }) => ({ path, sha256: sha256(content), bytes: content.length }));
      one.database.questions = steps;
      const { durable } = log.append({
        facts: [{ type: "node.published", data: { ...by, summary: "", files: manifest } }],
      });
      const isDone = await Promise.race([durable.then(() => true), died(one)]);
      await next.database.query("update hosts set beat = now() - interval '11 seconds' where host = $1", [one.host.id]);
      const taken = await next.store.open(id);
      const facts = await taken.read({ after: 0, limit: 99 });
      const isPublished = facts.some(({ type }) => type === "node.published");
      if (isDone) expect(isPublished).toBe(true);
      if (isPublished)
        for (const { path, sha256: wanted } of manifest)
          expect(sha256(readFileSync(join(taken.dir, NODE, ".copy", path)))).toBe(wanted);
      outcomes.push(isDone ? "all" : isPublished ? "published" : "not published");
    }
    expect(outcomes.at(-1)).toBe("all");
    expect(outcomes.length).toBeGreaterThan(6);
  });

  test("FOLLOW-FILES-3: what no fact followed, and what is large, follows by itself", async () => {
    await using one = await host(schema(), { looks: true });
    const log = await one.store.create(ID);
    await log.append({ facts: [called] }).durable;
    write(log, `${NODE}/scratch/a.md`, "small");
    write(log, `${NODE}/scratch/large.bin`, LARGE);
    const rows = () =>
      one.database.query(
        "select path, is_behind, encode(hash, 'hex') as hash from files where kind = 'file' order by path",
      );
    await expect.poll(rows).toEqual([
      { path: `${NODE}/scratch/a.md`, is_behind: false, hash: sha256("small") },
      { path: `${NODE}/scratch/large.bin`, is_behind: false, hash: sha256(LARGE) },
    ]);
    write(log, `${NODE}/scratch/a.md`, "again");
    rmSync(join(log.dir, NODE, "scratch/large.bin"));
    await expect.poll(rows).toEqual([{ path: `${NODE}/scratch/a.md`, is_behind: false, hash: sha256("again") }]);
  });

  test("FOLLOW-FILES-4: the files of a host that was taken over change nothing in the engine", async () => {
    const shared = schema();
    await using one = await host(shared);
    await using two = await host(shared);
    const log = await one.store.create(ID);
    write(log, `${NODE}/scratch/a.md`, "right");
    await log.append({ facts: [ended] }).durable;
    await takenOver(one, two);
    const table = () => two.database.query("select * from files order by path");
    const before = await table();
    write(log, `${NODE}/scratch/a.md`, "from a zombie");
    write(log, `${NODE}/scratch/large.bin`, LARGE);
    await expect(log.append({ facts: [ended] }).durable).rejects.toThrow(FencedError);
    await one.store.close();
    expect(await table()).toEqual(before);
  });

  test("ENGINE-STORE-2a: what had not reached the engine is named in the log, and the last content that did is there", async () => {
    const shared = schema();
    await using one = await host(shared);
    await using two = await host(shared);
    const log = await one.store.create(ID);
    const early = Buffer.alloc(LARGE.length, "early ");
    write(log, `${NODE}/scratch/changed.bin`, early);
    const manifest = [{ path: "changed.bin", sha256: sha256(early), bytes: early.length }];
    await log.append({ facts: [{ type: "node.published", data: { ...by, summary: "", files: manifest } }] }).durable;
    write(log, `${NODE}/scratch/changed.bin`, LARGE);
    write(log, `${NODE}/scratch/new.bin`, LARGE);
    await log.append({ facts: [ended] }).durable;

    const taken = await takenOver(one, two);
    expect(readFileSync(join(taken.dir, NODE, "scratch/changed.bin")).equals(early)).toBe(true);
    expect(readdirSync(join(taken.dir, NODE, "scratch"))).toEqual(["changed.bin"]);
    const said = await taken.read({ after: 2, limit: 9 });
    const at = `agents/${ID}/${NODE}/scratch`;
    expect(said.map(({ type, data }) => [type, "file" in data && data.file, "what" in data && data.what])).toEqual([
      ["log.repaired", `${at}/changed.bin`, expect.stringContaining("it is as it was before them")],
      ["log.repaired", `${at}/new.bin`, expect.stringContaining("is not there")],
    ]);
    // It is said once: from now on this is how the tree is.
    await taken.append({ facts: [ended] }).durable;
    await two.store.close();
    expect(await one.database.query("select from files where is_behind")).toEqual([]);
  });

  test("ENGINE-STORE-2b: what a person writes while nobody is at work counts, and is in the engine", async () => {
    await using one = await host(schema(), { looks: true });
    const log = await one.store.create(ID);
    for (const path of ["GOAL.md", "memory/a.md", `${NODE}/scratch/large.bin`]) write(log, path, "before");
    await log.append({ facts: [told] }).durable;
    await log.close();
    await settled(one);
    write(log, "GOAL.md", "by hand");
    write(log, "memory/new.md", "by hand");
    rmSync(join(log.dir, "memory/a.md"));
    const again = await one.store.open(ID);
    expect(readFileSync(join(again.dir, "GOAL.md"), "utf8")).toBe("by hand");
    const rows = () =>
      one.database.query("select path, encode(hash, 'hex') as hash from files where path ~ 'md$' order by 1");
    await expect.poll(rows).toEqual([
      { path: "GOAL.md", hash: sha256("by hand") },
      { path: "memory/new.md", hash: sha256("by hand") },
    ]);
    expect(again.seq).toBe(1);
  });

  test("ENGINE-STORE-2b: where another host had it since, what was written by hand is set aside and named", async () => {
    const shared = schema();
    await using one = await host(shared);
    await using two = await host(shared);
    const log = await one.store.create(ID);
    for (const path of ["GOAL.md", "MEMORY.md", "memory/a.md"]) write(log, path, "before");
    await log.append({ facts: [told] }).durable;
    await log.close();
    await settled(one);
    const there = await two.store.open(ID);
    write(there, "MEMORY.md", "learnt there");
    await there.append({ facts: [told] }).durable;
    await two.store.close();
    write(log, "GOAL.md", "by hand");
    write(log, "memory/a.md", "before");
    write(log, "memory/new.md", "new by hand");
    const again = await one.store.open(ID);
    const texts = ["GOAL.md", "MEMORY.md", "memory/a.md"].map((path) => readFileSync(join(again.dir, path), "utf8"));
    expect([texts, readdirSync(join(again.dir, "memory"))]).toEqual([["before", "learnt there", "before"], ["a.md"]]);
    const said = await again.read({ after: 2, limit: 9 });
    const aside = said.map(({ data }) =>
      "aside" in data ? readFileSync(join(one.home, data.aside ?? ""), "utf8") : "",
    );
    expect([said.map(({ type }) => type), aside]).toEqual([
      ["log.repaired", "log.repaired"],
      ["by hand", "new by hand"],
    ]);
  });

  test("TREE-LOOK-3: a link out of the tree is a link, wherever it is put", async () => {
    await using one = await host(schema());
    const log = await one.store.create(ID);
    write(log, `${NODE}/scratch/in/a.md`, "ours");
    await log.append({ facts: [ended] }).durable;
    const outside = join(one.home, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "a.md"), "a secret of this host");
    rmSync(join(log.dir, NODE, "scratch/in"), { recursive: true });
    symlinkSync(outside, join(log.dir, NODE, "scratch/in"));
    symlinkSync(join(outside, "a.md"), join(log.dir, NODE, "scratch/file"));
    await log.append({ facts: [ended] }).durable;
    const rows = await one.database.query(
      "select path, kind, target from files where path like '%scratch/%' order by path",
    );
    expect(rows).toEqual([
      { path: `${NODE}/scratch/file`, kind: "link", target: join(outside, "a.md") },
      { path: `${NODE}/scratch/in`, kind: "link", target: outside },
    ]);
    const contents = await one.database.query(
      "select from parts where position('secret' in encode(bytes, 'escape')) > 0",
    );
    expect(contents).toEqual([]);
    rmSync(join(log.dir, NODE), { recursive: true });
    symlinkSync(outside, join(log.dir, NODE));
    await log.append({ facts: [ended] }).durable;
    expect(await one.database.query("select from files where path like '%a.md'")).toEqual([]);
  });

  test("logins stay on their host, and what a host can go on using is not made anew", async () => {
    const shared = schema();
    await using one = await host(shared);
    await using two = await host(shared);
    const log = await one.store.create(ID);
    write(log, ".programs/run-1/clara/.claude/.credentials.json", "a secret");
    write(log, ".programs/run-1/clara/.claude/session.jsonl", "{}");
    write(log, ".index/memory.sqlite", "index");
    write(log, "snapshots/board.json", "{}");
    await log.append({ facts: [told, ended] }).durable;
    await log.close();
    await settled(one);
    expect(
      Object.keys(seenTree((await two.store.open(ID)).dir)).filter((path) => path.includes("credentials")),
    ).toEqual([]);
    await two.store.close();
    const again = await one.store.open(ID);
    expect(Object.keys(seenTree(again.dir)).filter((path) => /\.(json|jsonl|sqlite)$/.test(path))).toEqual([
      ".index/memory.sqlite",
      ".programs/run-1/clara/.claude/session.jsonl",
      "events.jsonl",
      "snapshots/board.json",
    ]);
    expect(await one.database.query("select from files where path like '%credentials%'")).toEqual([]);
  });

  test.each([1, 2, 3])("whatever is done to the files, every host has the same of them: seed %i", async (seed) => {
    const shared = schema();
    const random = seeded(seed);
    await using hosts = new AsyncDisposableStack();
    let current = hosts.use(await host(shared));
    let log = await current.store.create(ID);
    for (let round = 0; round < 8; round++) {
      for (let edits = 0; edits < 25; edits++) edit(join(log.dir, NODE, "scratch"), random);
      await log.append({ facts: [called, ended] }).durable;
      let expected = seenTree(log.dir);
      const isKilled = random() < 0.5;
      for (let edits = 0; edits < 5; edits++) edit(join(log.dir, NODE, "scratch"), random);
      if (isKilled) await current.silence();
      else {
        expected = seenTree(log.dir);
        await current.store.close();
      }
      current = hosts.use(await host(shared));
      log = await current.store.open(ID);
      expect(seenTree(log.dir)).toEqual(expected);
    }
  });
});

/** It has been given back in the background. */
async function settled({ database }: TestMachine): Promise<void> {
  await expect.poll(() => database.query("select owner from trees")).toEqual([{ owner: null }]);
}

/** Resolves once it has asked for more than it lived for. */
async function died({ database }: TestMachine): Promise<false> {
  await expect.poll(() => database.questions).toBeLessThan(0);
  return false;
}

function write({ dir }: Pick<AgentLog, "dir">, path: string, content: string | Buffer, mode = 0o600): void {
  const full = join(dir, path);
  mkdirSync(dirname(full), { recursive: true, mode: 0o700 });
  writeFileSync(full, content);
  chmodSync(full, mode);
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** One thing that a worker may do to its files. */
function edit(scratch: string, random: () => number): void {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  mkdirSync(scratch, { recursive: true });
  const names = ["a", "b", "c", "d/e", "d/f", "d/g/h", "i/j", "i"];
  const path = join(scratch, pick(names));
  const kindOf = (at: string) => lstatSync(at, { throwIfNoEntry: false });
  const clear = (at: string) => rmSync(at, { recursive: true, force: true });
  for (let above = dirname(path); above !== scratch && above.length > scratch.length; above = dirname(above))
    if (kindOf(above)?.isDirectory() === false) clear(above);
  const into = () => mkdirSync(dirname(path), { recursive: true });
  const acts: (() => void)[] = [
    () => {
      if (!kindOf(path)?.isFile()) clear(path);
      into();
      writeFileSync(path, `${random()}`.slice(0, 4 + Math.floor(random() * 12)));
    },
    () => clear(path),
    () => {
      clear(path);
      mkdirSync(path, { recursive: true });
    },
    () => {
      clear(path);
      into();
      symlinkSync(pick(names), path);
    },
    () => {
      if (kindOf(path)?.isFile()) chmodSync(path, pick([0o600, 0o644, 0o755, 0o400]));
    },
    () => {
      if (kindOf(path) === undefined) return;
      const to = join(scratch, pick(["x", "y", "z"]));
      clear(to);
      renameSync(path, to);
    },
  ];
  pick(acts)();
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}
