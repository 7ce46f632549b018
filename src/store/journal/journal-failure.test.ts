import { expect, test } from "vitest";
import type { NewFact } from "../../protocol/index.ts";
import { CrashDisk } from "../../testing/crash-disk.ts";
import { openStore } from "../open-store.ts";

const clock = { now: () => 1_700_000_000_000 };
const paused: NewFact = { type: "agent.paused", data: {} };
const said = (content: string) => ({
  facts: [paused],
  entries: { file: "conversation.jsonl", entries: [{ role: "user" as const, from: "human", content }] },
});

/** What goes wrong with the plain file of a conversation, and what must be there after a restart. */
const failures = [
  { what: "a write", broken: ["write"], partial: 7, refused: true },
  { what: "a write, and the cut after it", broken: ["write", "truncate"], partial: 7, refused: false },
] as const;

test.each(failures)(
  "JOURNAL-5. $what fails: what was refused is gone after a restart, what was acknowledged is there",
  async ({ broken, partial, refused }) => {
    const disk = new CrashDisk();
    const store = await openStore({ root: "/home", clock, disk: disk.process() });
    const log = await store.create("agent-open");
    await log.append(said("one")).durable;
    const told: number[] = [];
    log.subscribe(({ seq }) => told.push(seq));

    disk.fault = ({ what, path }) =>
      path.endsWith("conversation.jsonl") && broken.some((each) => each === what)
        ? { code: "EIO", partial }
        : undefined;
    const outcomes = await Promise.allSettled([log.append(said("two")).durable]);
    expect(outcomes.map(({ status }) => status)).toEqual([refused ? "rejected" : "fulfilled"]);
    expect(told).toEqual(refused ? [] : [2]);
    expect(() => log.append(said("three"))).toThrow("nothing more is recorded");

    disk.fault = () => undefined;
    const again = await openStore({ root: "/home", clock, disk: disk.process() });
    const reopened = await again.open("agent-open");
    const entries = await reopened.conversation("conversation.jsonl");
    expect(entries.map((entry) => entry.content)).toEqual(refused ? ["one"] : ["one", "two"]);
    const facts = await reopened.read({ after: 0, limit: 10 });
    expect(facts.filter(({ type }) => type === "agent.paused").length).toBe(refused ? 1 : 2);
    expect(again.repairs).toEqual([]);
  },
);
