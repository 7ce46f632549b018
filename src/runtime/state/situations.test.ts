import { expect, onTestFinished, test } from "vitest";
import { SITUATION_VERSION } from "../../projections/index.ts";
import type { AgentId, NewFact } from "../../protocol/index.ts";
import { nodeDisk } from "../../store/disk/node-disk.ts";
import { openStore } from "../../store/open-store.ts";
import type { AgentLog, Store } from "../../store/store.ts";
import { manualClock, temporaryHome } from "../../testing/index.ts";
import { findAgent } from "../views/find-agent.ts";
import { allSituations, situationOf } from "./situations.ts";

test("the situation is the newest snapshot and the facts since, however many, the same as without a snapshot", async () => {
  const { store } = await newStore();
  const log = await born(store, "agent-aaaa", "one");
  const paused: NewFact[] = Array.from({ length: 6000 }, () => ({ type: "agent.paused", data: {} }));
  await log.append({ facts: [...paused, { type: "agent.stopped", data: { by: "human" } }] }).durable;
  const whole = await situationOf(log);
  expect([whole.seq, whole.agent.status]).toEqual([6002, "stopped"]);

  await log.saveSnapshot("situation", SITUATION_VERSION, whole.seq, whole);
  await log.append({ facts: [{ type: "agent.completed", data: { summary: "done" } }] }).durable;
  const since = await situationOf(log);
  expect([since.seq, since.agent.status, since.agent.summary]).toEqual([6003, "completed", "done"]);
});

test("an agent is found by its id, its name, or the beginning of either; a whole name wins over a beginning", async () => {
  const { store } = await newStore();
  await born(store, "agent-aaaa", "chip");
  await born(store, "agent-abbb", "chip-survey");
  const found = async (word: string) => (await findAgent(store, word)).agent.id;
  expect(await Promise.all(["agent-aaaa", "abbb", "chip-s", "chip"].map(found))).toEqual([
    "agent-aaaa",
    "agent-abbb",
    "agent-abbb",
    "agent-aaaa",
  ]);
  const { store: other } = await newStore();
  await born(other, "agent-aaaa", "größe");
  // As a Mac's file names have it.
  for (const typed of ["größe", "GRÖ", "gro\u0308ße", "gro\u0308"])
    expect((await findAgent(other, typed)).agent.id).toBe("agent-aaaa");
  await expect(found("a")).rejects.toThrow(
    '"a" matches several agents: agent-abbb (chip-survey), agent-aaaa (chip). Give more of the name, or the id.',
  );
  await expect(found("x")).rejects.toThrow(
    'There is no agent "x". Choose from: agent-abbb (chip-survey), agent-aaaa (chip).',
  );
});

test("one agent that cannot be read does not hide the others", async () => {
  const { store } = await newStore();
  await born(store, "agent-aaaa", "one");
  await store.create("agent-bbbb");
  const { situations, unreadable } = await allSituations(store);
  expect([situations.map(({ agent }) => agent.id), unreadable]).toEqual([
    ["agent-aaaa"],
    [{ id: "agent-bbbb", why: "The log of agent-bbbb is empty." }],
  ]);
});

test("in an empty home it is said how to begin", async () => {
  const { store } = await newStore();
  await expect(findAgent(store, "x")).rejects.toThrow('this home has none yet. Begin with: agiraph run "your goal"');
});

const clock = manualClock();

async function newStore(): Promise<{ store: Store }> {
  const home = await temporaryHome();
  const store = await openStore({ root: home.path, disk: nodeDisk, clock });
  onTestFinished(async () => {
    await store.close();
    await home.remove();
  });
  return { store };
}

async function born(store: Store, id: AgentId, name: string): Promise<AgentLog> {
  await clock.advance(1000);
  const log = await store.create(id);
  const data = { name, goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const nothing = { budget_usd: null, project: null, tools: null };
  await log.append({ facts: [{ type: "agent.created", data: { ...data, ...nothing } }] }).durable;
  return log;
}
