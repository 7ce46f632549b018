import { expect, onTestFinished, test } from "vitest";
import { AGENT_SUMMARY_VERSION, apply, type Situation } from "../projections/index.ts";
import type { AgentId, NewFact } from "../protocol/index.ts";
import { openStore } from "../store/open-store.ts";
import type { AgentLog } from "../store/store.ts";
import { temporaryHome } from "../testing/index.ts";
import type { Agent } from "./agent.ts";
import { OpenAgents } from "./open-agents.ts";
import { situationOf } from "./state/situations.ts";

const GRACE = 60_000;

test("agents that rest are closed, the longest unused first, and are listed and opened as if nothing had been", async () => {
  const { agents, born, pass, opened, open } = await house({ keptOpen: 3 });
  for (const id of ["agent-aaaa", "agent-bbbb", "agent-cccc"] as const) await born(id);
  await agents.get("agent-aaaa", open);
  pass(GRACE);
  await born("agent-dddd");
  expect(opened()).toEqual(["agent-aaaa", "agent-cccc", "agent-dddd"]);
  expect((await agents.summaries()).map(({ id, status }) => [id, status])).toEqual([
    ["agent-dddd", "idle"],
    ["agent-cccc", "idle"],
    ["agent-bbbb", "idle"],
    ["agent-aaaa", "idle"],
  ]);
  const again = await agents.get("agent-bbbb", open);
  await again.log.append({ facts: [STARTED] }).durable;
  expect((await agents.summary("agent-bbbb")).status).toBe("working");
});

test("an agent that is asked for while it is being closed is opened again once it is", async () => {
  const { agents, born, pass, open } = await house({ keptOpen: 1 });
  await born("agent-aaaa");
  pass(GRACE);
  await born("agent-bbbb");
  const again = await agents.get("agent-aaaa", open);
  await again.log.append({ facts: [STARTED] }).durable;
  expect(again.now).toMatchObject({ seq: 2, agent: { status: "working" } });
});

test("who works stays, and so does who was asked for a moment ago", async () => {
  const { agents, born, pass, opened } = await house({ keptOpen: 1 });
  const busy = await born("agent-aaaa");
  busy.isResting = false;
  pass(GRACE);
  await born("agent-bbbb");
  pass(GRACE - 2000);
  await born("agent-cccc");
  expect(opened()).toEqual(["agent-aaaa", "agent-bbbb", "agent-cccc"]);
  await agents.close();
});

test("what was kept of an agent counts only where nothing has happened since", async () => {
  const { agents, born, store } = await house({});
  await born("agent-aaaa");
  await born("agent-bbbb");
  await agents.close();
  const log = await store.open("agent-bbbb");
  await new OpenAgents({ store, now: () => 0 }).summaries();
  expect(await log.snapshot("summary", AGENT_SUMMARY_VERSION)).toMatchObject({ seq: 1 });
  await log.append({ facts: [STARTED] }).durable;
  const anew = new OpenAgents({ store, now: () => 0 });
  expect((await anew.summaries()).map(({ id, status, seq }) => [id, status, seq])).toEqual([
    ["agent-bbbb", "working", 2],
    ["agent-aaaa", "idle", 1],
  ]);
  expect(await log.snapshot("summary", AGENT_SUMMARY_VERSION)).toMatchObject({ seq: 2 });
});

test("every fact of every agent is heard, the first one too", async () => {
  const { agents, born } = await house({});
  const heard: string[] = [];
  const unhear = agents.subscribe(({ agent_id, seq, type }) => heard.push(`${agent_id} ${seq} ${type}`));
  const one = await born("agent-aaaa");
  await born("agent-bbbb");
  await one.log.append({ facts: [STARTED] }).durable;
  unhear();
  await one.log.append({ facts: [STARTED] }).durable;
  expect(heard).toEqual(["agent-aaaa 1 agent.created", "agent-bbbb 1 agent.created", "agent-aaaa 2 agent.started"]);
});

type Pretended = { -readonly [K in "isResting" | "now" | "log"]: Agent[K] };

/** Real logs; of an agent, only what putting it away concerns. */
async function house({ keptOpen = 64 }: { keptOpen?: number }) {
  const home = await temporaryHome();
  let now = 1_000_000;
  const store = await openStore({ root: home.path, clock: { now: () => now } });
  onTestFinished(async () => {
    await store.close();
    await home.remove();
  });
  const agents = new OpenAgents({ store, now: () => now, keptOpen });
  const isOpen = new Set<AgentId>();
  const open = async (log: AgentLog): Promise<Agent> => {
    const situation: Situation = await situationOf(log);
    log.subscribe((fact) => apply(situation, fact));
    isOpen.add(log.id);
    const close = async () => {
      isOpen.delete(log.id);
    };
    return { isResting: true, now: situation, log, close } as unknown as Agent;
  };
  const born = async (id: AgentId): Promise<Pretended> => {
    now += 1000;
    const log = await store.create(id);
    return agents.add(log, async () => {
      await log.append({ facts: [CREATED] }).durable;
      return open(log);
    });
  };
  return { agents, store, born, open, opened: () => [...isOpen].sort(), pass: (ms: number) => (now += ms) };
}

const STARTED: NewFact = { type: "agent.started", data: { why: "created", pid: 1 } };
const CREATED: NewFact = {
  type: "agent.created",
  data: {
    name: "one",
    goal: "Rest",
    mode: "finite",
    model: "scripted/none",
    worker_model: "scripted/none",
    budget_usd: null,
    project: null,
    tools: null,
  },
};
