import { readdirSync, readFileSync } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Fact, FactType } from "../../src/protocol/index.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { type House, startHouse } from "../outside/house.ts";
import { skipped } from "../try-sandbox.ts";
import { configure, factsOf } from "./killing.ts";

/**
 * The house is killed with SIGKILL while a program that speaks Claude Code's protocol stands still at a named place of
 * its work; another house takes it up. Whatever the place: each step is done once and published once, and a session
 * that has done something goes on.
 */
const FAKE = join(import.meta.dirname, "fake-claude.ts");
const LONG = { timeout: 120_000 };

/** Stateless: hires Clara for one node, and finishes when it is completed. */
function coordinatorTurn({ messages }: ProviderRequest, checks: string[]): ProviderTurn {
  const words = messages.map(({ text }) => text).join("\n");
  if (/node-1 (completed|failed)/.test(words)) return { calls: [{ name: "finish", args: { summary: "done" } }] };
  if (!words.includes("Clara is hired"))
    return { calls: [{ name: "spawn_worker", args: { name: "Clara", program: "claude-code" } }] };
  if (words.includes("Created node-1")) return { text: "I wait." };
  const work = { task: "Three steps.", worker: "Clara", deliverables: ["one", "two", "three"], checks };
  return { calls: [{ name: "create_work_node", args: work }] };
}

interface Life {
  /** How the program is started in this life: where it stands still, and how often it dies early. */
  program?: string[];
  /** Killed as soon as this is so; to its end where nothing is said. */
  until?: (house: House, home: string) => Promise<unknown>;
}

const held = (where: string): Life => ({
  program: [`hold:${where}`],
  until: (house) => house.fact("model.warned", ({ message }) => message === `at ${where}`),
});

async function lives(all: Life[], checks: string[] = []) {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ respond: (request) => coordinatorTurn(request, checks) });
  const facts: Fact[][] = [];
  for (const [at, { program = [], until }] of all.entries()) {
    const programs = { "claude-code": { kind: "claude_code" as const, command: [process.execPath, FAKE, ...program] } };
    await configure(home.path, provider.url, { programs });
    const house = await startHouse(home.path, at === 0 ? "Three steps." : undefined);
    await until?.(house, home.path);
    if (until) house.child.kill("SIGKILL");
    await house.over;
    facts.push(house.facts);
  }
  return { ...ofAll(facts), told: toldLast(home.path) };
}

/** The words with which it was started last. */
function toldLast(home: string): string {
  const [agent = ""] = readdirSync(join(home, "agents"));
  return readFileSync(join(home, "agents", agent, ".programs/run-1/clara/told"), "utf8");
}

function ofAll(lives: Fact[][]) {
  const facts = lives.flat();
  return {
    sessions: factsOf(facts, "worker.session").length,
    starts: factsOf(facts, "process.started").length,
    retried: factsOf(facts, "node.retried").map(({ data }) => data.error),
    published: factsOf(facts, "node.published").map(({ data }) => data.files.map(({ path }) => path)),
    completed: factsOf(facts, "node.completed").length,
  };
}

const ONCE = { retried: [], published: [["one", "three", "two"]], completed: 1 };
const TAKEN_UP = expect.stringContaining("You were interrupted and are now taken up again");

for (const [when, where, sessions] of [
  // Its id was on record; it says that there is no such session.
  ["before the program has begun", "start", 2],
  ["when it has begun and done nothing", "begun", 1],
  ["between a step and the record of it", "two", 1],
  ["between its last step and its publish", "publish", 1],
] as const)
  test.skipIf(skipped)(`killed ${when} ${skipped}`, LONG, async () => {
    const { told, starts, ...end } = await lives([held(where), {}]);
    expect(end).toEqual({ ...ONCE, sessions });
    expect([starts, told]).toEqual([sessions + 1, TAKEN_UP]);
  });

test.skipIf(skipped)(`the id of its session is on record before it starts ${skipped}`, LONG, async () => {
  const seen: FactType[] = [];
  await lives([
    {
      ...held("start"),
      async until(house) {
        await house.fact("process.started");
        seen.push(
          ...house.facts.map(({ type }) => type).filter((type) => /^(worker.session|process.started)$/.test(type)),
        );
      },
    },
    {},
  ]);
  expect(seen).toEqual(["worker.session", "process.started"]);
});

test.skipIf(skipped)(`killed while its publish is being checked ${skipped}`, LONG, async () => {
  // In the first life it is never over; in the second it is checked again, without the program.
  const check = "[ -e checking ] && { rm checking; exit 0; }; : > checking; until [ -e never ]; do sleep 0.1; done";
  const checking = async (house: House, home: string) => {
    const { agent_id } = await house.fact("tool.called", ({ tool }) => tool === "publish");
    const file = join(home, "agents", agent_id, "runs/run-1/nodes/node-1/scratch/checking");
    await vi.waitFor(() => access(file), LONG);
  };
  const { told: _, ...end } = await lives([{ until: checking }, {}], [check]);
  expect(end).toEqual({ ...ONCE, sessions: 1, starts: 1 });
});

test.skipIf(skipped)(`killed when its publish is on record ${skipped}`, LONG, async () => {
  const { told: _, ...end } = await lives([{ until: (house) => house.fact("node.published") }, {}]);
  expect(end).toEqual({ ...ONCE, sessions: 1, starts: 1 });
});

test.skipIf(skipped)(`killed while its session is being taken up, twice ${skipped}`, LONG, async () => {
  const { told, ...end } = await lives([held("two"), held("resume"), held("resume"), {}]);
  expect(end).toEqual({ ...ONCE, sessions: 1, starts: 4 });
  expect(told).toEqual(TAKEN_UP);
});

test.skipIf(skipped)(`one that dies as it takes its session up is taken up again ${skipped}`, LONG, async () => {
  const { told: _, ...end } = await lives([held("two"), { program: ["die:1"] }]);
  expect(end).toEqual({ ...ONCE, sessions: 1, starts: 3 });
});
