import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { temporaryHome } from "../../src/testing/temporary-home.ts";

/** The system's own errors, put by strace into the system calls of a real process. */
const canTrace = spawnSync("strace", ["-qq", "-e", "trace=none", "true"]).status === 0;

describe.skipIf(!canTrace)("system calls that fail (needs strace)", () => {
  test("an error of the journal's write: nothing is acknowledged any more, and what was is there", async () => {
    const { said, injected, facts } = await hurt("journal/000000000001.journal", "pwrite64", "EIO", 5, 10);
    expect(injected).toBe(1);
    expect(said.slice(0, 6)).toEqual(["open", "acked 1", "acked 2", "acked 3", "acked 4", "refused 5 ReadOnlyError"]);
    expect(said.slice(6)).toEqual([6, 7, 8, 9, 10].map((number) => `refused ${number} ReadOnlyError`).concat("done"));
    // strace fails the call without making it, so what was refused is not there.
    expect(facts).toEqual(["fact 1", "fact 2", "fact 3", "fact 4"]);
  });

  test("no room in the journal: that append is refused, the next ones succeed, and no number is missing", async () => {
    const { said, injected, facts } = await hurt("journal/000000000001.journal", "pwrite64", "ENOSPC", 3, 5);
    expect(injected).toBe(1);
    expect(said).toEqual(["open", "acked 1", "acked 2", "refused 3 DiskFullError", "acked 4", "acked 5", "done"]);
    expect(facts).toEqual(["fact 1", "fact 2", "fact 4", "fact 5"]);
  });

  test("no room in a plain file: that append is taken back, also from the journal", async () => {
    const { said, injected, facts } = await hurt("agents/agent-abcd/conversation.jsonl", "pwrite64", "ENOSPC", 3, 5);
    expect(injected).toBe(1);
    expect(said).toEqual(["open", "acked 1", "acked 2", "refused 3 DiskFullError", "acked 4", "acked 5", "done"]);
    expect(facts).toEqual(["fact 1", "fact 2", "fact 4", "fact 5"]);
  });

  test("a failed sync before a journal is removed: read-only, and the journal that covers it stays", async () => {
    const { said, injected, facts } = await hurt("agents/agent-abcd/events.jsonl", "fdatasync", "EIO", 1, 40, 2048);
    expect(injected).toBe(1);
    const acked = said.filter((line) => line.startsWith("acked")).length;
    const refused = said.filter((line) => line.endsWith("ReadOnlyError")).length;
    expect({ total: acked + refused, someRefused: refused > 0 }).toEqual({ total: 40, someRefused: true });
    // Acknowledged first, then refused, never mixed; and what was refused is not there.
    expect(said.findLastIndex((line) => line.startsWith("acked"))).toBe(acked);
    expect(facts).toEqual(Array.from({ length: acked }, (_, index) => `fact ${index + 1}`));
  });

  test.each([
    ["ENOLCK", "If no such process is running, the file system has no file locks"],
    ["EOPNOTSUPP", "cannot be locked (disk I/O error). Some network mounts have no file locks"],
  ])("a home on a file system without locks (%s) is refused with what to do", async (error, words) => {
    await using home = await temporaryHome();
    const root = join(home.path, "home");
    const command = [
      ...["-f", "-qq", "-o", join(home.path, "trace.txt"), "-P", join(root, "home.lock"), "-e", "trace=fcntl"],
      ...["-e", `inject=fcntl:error=${error}`],
      ...[process.execPath, join(import.meta.dirname, "store-child.ts"), root, "1", "1024"],
    ];
    const { stdout } = await promisify(execFile)("strace", command);
    expect(stdout).toContain(words);
  });

  const conversation = "agents/agent-abcd/conversation.jsonl";
  const refusedFrom3 = [3, 4, 5].map((number) => `refused ${number} ReadOnlyError`);

  test("an error of one plain file's write: what was refused is not there after a restart", async () => {
    const { said, injected, facts } = await hurt(conversation, "pwrite64", "EIO", 3, 5);
    expect(injected).toBe(1);
    expect(said).toEqual(["open", "acked 1", "acked 2", ...refusedFrom3, "done"]);
    expect(facts).toEqual(["fact 1", "fact 2"]);
  });

  test.each(["journal/000000000001.journal", conversation])(
    "a quota that is used up in %s is a full disk",
    async (file) => {
      const { said, injected, facts } = await hurt(file, "pwrite64", "EDQUOT", 3, 5);
      expect(injected).toBe(1);
      expect(said).toEqual(["open", "acked 1", "acked 2", "refused 3 DiskFullError", "acked 4", "acked 5", "done"]);
      expect(facts).toEqual(["fact 1", "fact 2", "fact 4", "fact 5"]);
    },
  );
});

/** Lets the child work while one system call on one file fails, then opens its home and reads what is there. */
async function hurt(file: string, call: string, error: string, when: number, count: number, limit = 1 << 20) {
  await using home = await temporaryHome();
  const trace = join(home.path, "trace.txt");
  const root = join(home.path, "home");
  // One thread for the file system: strace counts the calls of each thread by itself.
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
  const command = [
    ...["-f", "-qq", "-o", trace, "-P", join(root, file), "-e", `trace=${call}`],
    ...["-e", `inject=${call}:error=${error}:when=${when}`],
    ...[process.execPath, join(import.meta.dirname, "store-child.ts"), root, String(count), String(limit)],
  ];
  const { stdout } = await promisify(execFile)("strace", command, { env });
  const store = await openStore({ root, clock: { now: () => 1_800_000_000_000 } });
  const log = await store.open("agent-abcd");
  const facts = await log.read({ after: 0, limit: 1e6 });
  const entries = await log.conversation("conversation.jsonl");
  expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, index) => index + 1));
  expect(entries.map((entry) => entry.content)).toEqual(summaries(facts).map((fact) => fact.replace("fact", "entry")));
  expect(store.repairs).toEqual([]);
  await store.close();
  const injected = readFileSync(trace, "utf8").match(/\(INJECTED\)/g)?.length ?? 0;
  return { said: stdout.trim().split("\n"), injected, facts: summaries(facts) };
}

function summaries(facts: readonly { data: object }[]): string[] {
  return facts.map(({ data }) => ("summary" in data ? String(data.summary) : ""));
}
