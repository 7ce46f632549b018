import type { Fact, StoredEntry } from "../../src/protocol/index.ts";
import type { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { CrashDisk } from "../../src/testing/crash-disk.ts";
import type { Tree } from "../../src/testing/crash-medium.ts";
import { AGENTS, type Agent, FILES, type History, JOURNAL_LIMIT, type Promised, ROOT } from "./store-workload.ts";

/** A promise that was not kept: which, and how that showed. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly check: string;
  constructor(check: string, what: string) {
    super(`${check}: ${what}`);
    this.check = check;
  }
}

/** Opens what a crash left and checks every promise of the store against it (STORE-1 to STORE-3, RECOVERY-1 to RECOVERY-4). */
export async function judge(open: typeof openStore, history: History, at: number, tree: Tree): Promise<void> {
  const disk = new CrashDisk(tree, { recording: false });
  const opening = () =>
    open({ root: ROOT, disk: disk.process(), clock: { now: () => 1_800_000_000_000 }, journalLimit: JOURNAL_LIMIT });
  const first = await must("opens after a crash", opening);
  const found = await readAll(first, history, at);
  checkAppends(history.appends, at, found);
  checkFiles(disk, found);
  checkRepairs(first);

  // kill -9 right after recovery: recovering again must find nothing to do.
  const before = disk.files(`${ROOT}/agents`);
  disk.kill();
  const second = await must("opens again", opening);
  same("recovering twice changes nothing", disk.files(`${ROOT}/agents`), before);

  const agent = AGENTS.find((one) => found.has(one));
  if (agent === undefined) return second.close();
  const log = await second.open(agent);
  const appended = log.append({
    facts: [{ type: "agent.paused", data: {} }],
    entries: { file: FILES[0], entries: [{ role: "user", from: "human", content: "after the crash" }] },
  });
  await must("takes a further append", () => appended.durable);
  await must("closes", () => second.close());
  const third = await must("opens after a close", opening);
  const again = await third.open(agent);
  const facts = await again.read({ after: 0, limit: 1e6 });
  same("keeps the further append", facts, [...(found.get(agent)?.facts ?? []), ...appended.facts]);
  await third.close();
  same("a clean close leaves no journal", Object.keys(disk.files(`${ROOT}/journal`)), []);
}

interface Found {
  facts: Fact[];
  entries: Map<string, StoredEntry[]>;
}

async function readAll(store: Store, history: History, at: number): Promise<Map<Agent, Found>> {
  const found = new Map<Agent, Found>();
  for (const agent of AGENTS) {
    const created = (history.createdAt.get(agent) ?? Infinity) <= at;
    const log = await store.open(agent).catch((error: unknown) => {
      if (created) throw new Violation("an agent that was made is there", String(error));
    });
    if (log === undefined) continue;
    const facts = await log.read({ after: 0, limit: 1e6 });
    const entries = new Map<string, StoredEntry[]>();
    for (const file of FILES) entries.set(file, await log.conversation(file));
    found.set(agent, { facts, entries });
    const snapshot = await log.snapshot<{ seq: number; last: unknown }>("fold", 1);
    if (snapshot === undefined) continue;
    same("a snapshot is of facts that are there", snapshot.state, {
      seq: snapshot.seq,
      last: facts[snapshot.seq - 1]?.data,
    });
  }
  return found;
}

function checkAppends(appends: readonly Promised[], at: number, found: Map<Agent, Found>): void {
  const expected = new Map<Agent, Found>();
  for (const [agent] of found) expected.set(agent, { facts: [], entries: new Map(FILES.map((file) => [file, []])) });
  const words = new Map([...found].map(([agent, home]) => [agent, wordsOf(home)]));
  for (const one of appends) {
    if (one.calledAt > at) continue;
    const presence = presenceOf(one, words.get(one.agent));
    if (presence === "part") throw new Violation("an append is there as a whole or not at all", describe(one));
    if (one.mustAt <= at && presence !== "all") throw new Violation("what was acknowledged is there", describe(one));
    if (one.neverAt <= at && presence === "all") throw new Violation("what was taken back stays away", describe(one));
    if (presence !== "all") continue;
    const home = expected.get(one.agent);
    home?.facts.push(...one.facts);
    const entries = home?.entries.get(one.file ?? "");
    for (const { content, ts } of one.entries)
      entries?.push({ seq: (entries?.length ?? 0) + 1, ts, role: "user", from: "human", content });
  }
  // Whole streams: nothing twice, nothing else, nothing changed, in the order of the calls, numbered 1, 2, 3.
  same("the streams hold exactly the appends, in order", plain(found), plain(expected));
}

/** What each stream says, for looking up. */
function wordsOf(home: Found | undefined): Set<string> {
  const words = new Set<string>();
  for (const fact of home?.facts ?? []) if (fact.type === "agent.completed") words.add(fact.data.summary);
  for (const [file, entries] of home?.entries ?? [])
    for (const entry of entries) if (entry.role === "user") words.add(file + entry.content);
  return words;
}

function presenceOf(one: Promised, words: Set<string> | undefined): "all" | "part" | "none" {
  const happened = (fact: Fact) => fact.type === "agent.completed" && words?.has(fact.data.summary);
  const there = [...one.facts.map(happened), ...one.entries.map(({ content }) => words?.has(one.file + content))];
  return there.every(Boolean) ? "all" : there.some(Boolean) ? "part" : "none";
}

/** The files themselves: as many whole lines as records, and not a byte more. */
function checkFiles(disk: CrashDisk, found: Map<Agent, Found>): void {
  const files = disk.files(`${ROOT}/agents`);
  for (const [agent, { facts, entries }] of found) {
    for (const [file, records] of [["events.jsonl", facts] as const, ...entries]) {
      const text = files[`${ROOT}/agents/${agent}/${file}`] ?? "";
      const lines = text.split("\n");
      if (lines.pop() !== "" || lines.length !== records.length)
        throw new Violation("files hold whole lines only", `${agent}/${file}`);
    }
  }
}

function checkRepairs(store: Store): void {
  const unexpected = store.repairs.filter((repair) => !repair.what.startsWith("the last write was not finished"));
  same("a crash damages nothing but the last write", unexpected, []);
}

async function must<T>(check: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new Violation(check, String(error));
  }
}

/** By their text: the promises are about what is written down. */
function same(check: string, actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Violation(check, `found ${one}, expected ${other}`);
}

function plain(found: Map<Agent, Found>): unknown {
  return [...found].map(([agent, { facts, entries }]) => [agent, facts, [...entries]]);
}

function describe(one: Promised): string {
  return `${one.agent}: ${JSON.stringify(one.facts)} ${one.file ?? ""} ${JSON.stringify(one.entries)}`;
}
