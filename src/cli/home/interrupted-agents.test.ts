import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { AgentId, NewFact } from "../../protocol/index.ts";
import { openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { Terminal } from "../terminal.ts";
import { interruptedAgents } from "./interrupted-agents.ts";

const created = {
  mode: "finite",
  model: "x/y",
  worker_model: "x/y",
  budget_usd: null,
  project: null,
  tools: null,
} as const;

async function begin(store: Store, name: string, ...then: NewFact[]): Promise<AgentId> {
  const id: AgentId = `agent-${name}`;
  const log = await store.create(id);
  const facts: NewFact[] = [
    { type: "agent.created", data: { ...created, name, goal: "A goal" } },
    { type: "agent.started", data: { why: "created", pid: 1 } },
    ...then,
  ];
  await log.append({ facts }).durable;
  return id;
}

test("only agents of processes before this one were interrupted, not those that other terminals begin in it", async () => {
  await using folder = await temporaryHome();
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const call = { terminal: new Terminal(streams, {}, "/"), home: undefined, json: false, packageRoot: "/" };
  let ms = 1_000_000;
  const open = () => {
    ms += 10_000;
    return openStore({ root: folder.path, clock: { now: () => ms } });
  };

  const first = await open();
  const own = await begin(first, "mine");
  await begin(first, "joined");
  expect(await interruptedAgents(first, own, call)).toBeUndefined();
  await begin(first, "archived", { type: "agent.archived", data: { by: "human" } });
  await first.close();

  const second = await open();
  const other = await begin(second, "other");
  expect(await interruptedAgents(second, other, call)).toBe(
    "2 agents were interrupted: agiraph resume joined · agiraph resume mine",
  );
  await begin(second, "third");
  await begin(second, "fourth");
  await second.close();

  const third = await open();
  expect(await interruptedAgents(third, await begin(third, "last"), call)).toMatch(
    /^5 agents were interrupted: (agiraph resume \w+ · ){3}all of them: agiraph ls$/,
  );
  await third.close();
});
