import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ModelRequest } from "../../src/models/model.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  both,
  call,
  type ScriptStep,
  script,
  startTeam,
  type TestTeam,
  temporaryHome,
} from "../../src/testing/index.ts";
import { ScriptedModel } from "../../src/testing/script.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const costing = (step: ScriptStep, cost_usd: number) => step.with({ cost_usd });
const dollars = (sum: number) => Math.round(sum * 1e6) / 1e6;

async function answersTo(team: TestTeam, who: string): Promise<[string, boolean, string][]> {
  const file = who === "coordinator" ? "conversation.jsonl" : `runs/run-1/workers/${who}/conversation.jsonl`;
  return (await team.conversation(file)).flatMap((entry) =>
    entry.role === "tool" ? [[entry.tool, entry.ok, entry.content]] : [],
  );
}

test("twenty at work at once never spend more than the budget and one call, and each leaves what it had", async () => {
  const BUDGET = 1;
  const names =
    "Alice Bob Carol David Erin Frank Grace Henry Iris Jack Kate Leo Mona Nina Oscar Paula Quinn Rosa Sam Tara".split(
      " ",
    );
  // The model of every second one is dear, which nobody knows beforehand.
  const people = names.map((name, at) =>
    at % 2 === 0 ? { name, model: "cheap/mind", price: 0.005 } : { name, model: "dear/mind", price: 0.02 },
  );
  // Everyone makes a beginning, waits for the word, and would then go on for ever.
  const mind = (price: number) =>
    new SlowScript(
      [
        costing(both(written("draft.md", "a beginning"), call("check_messages", { wait: true })), price),
        ...Array.from({ length: 200 }, (_, turn) => costing(written("more.md", `${turn}`), price)),
      ],
      {},
    );
  const { promise: allWait, resolve: theyDo } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Spend it all",
    budget_usd: BUDGET,
    config: { max_concurrent: 20 },
    coordinator: script(
      both(...people.map(({ name, model }) => call("spawn_worker", { name, model }))).with({ cost_usd: 0.001 }),
      both(...names.map((worker) => made(`${worker}'s part`, { worker }))).with({ cost_usd: 0.001 }),
      costing(call("send_message", { to: "*", content: "Go." }).until(allWait), 0.001),
      call("finish", { summary: "rich" }).after("everything is paid"),
    ),
    workers: Object.fromEntries(people.map(({ name, price }) => [name, mind(price)])),
  });
  const waiting = new Set<string>();
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.for === "news" && fact.data.node_id)
      waiting.add(fact.data.worker_id);
    if (waiting.size === names.length) theyDo();
  });
  await team.agent.idle();

  const { spending, agent } = team.agent.now;
  const spent = spending.total.cost_usd;
  expect(spent).toBeGreaterThanOrEqual(BUDGET);
  expect(spent).toBeLessThanOrEqual(BUDGET + 0.02);
  expect(agent.outcome).toEqual({ kind: "budget_exhausted", spent_usd: expect.closeTo(spent, 6) });
  expect(agent.status).toBe("failed");

  // They were really at it together: all of them waited for an answer at the same time.
  expect(SlowScript.most).toBe(20);
  // Each ends for want of money, with what it had, published and readable.
  expect(
    team
      .board()
      .map((node) => [
        node.id,
        node.status === "failed" && node.outcome.kind,
        "files" in node && node.files.some((file) => file.path === "draft.md"),
      ]),
  ).toEqual(names.map((_, at) => [`node-${at + 1}`, "budget_exhausted", true]));
  for (const [at] of names.entries()) {
    const path = `runs/run-1/nodes/node-${at + 1}/published/draft.md`;
    expect(await readFile(join(team.agent.log.dir, path), "utf8")).toBe("a beginning");
  }
  const told = (await team.facts()).flatMap((fact) => (fact.type.startsWith("budget.") ? [fact.type] : []));
  expect([...new Set(told)]).toEqual(["budget.warned", "budget.exceeded"]);
});

test("a model that nobody has tried yet is tried by one alone, however many wait for it", async () => {
  const names = ["Alice", "Bob", "Carol", "David"];
  await using team = await startTeam({
    goal: "Try the dear ones",
    budget_usd: 0.1,
    coordinator: script(
      both(...names.map((name) => call("spawn_worker", { name, model: "dear/mind" }))).with({ cost_usd: 0.001 }),
      both(...names.map((worker) => made(`${worker}'s part`, { worker }))).with({ cost_usd: 0.001 }),
      call("finish", { summary: "rich" }).after("everything is paid"),
    ),
    workers: Object.fromEntries(
      // The second call may be anybody's: the same one's next, or another's first.
      names.map((name) => [
        name,
        new SlowScript(
          ["a", "b"].map((file) => costing(written(file, name), 0.06)),
          {},
        ),
      ]),
    ),
  });
  await team.agent.idle();
  // One call left room for another, which took what there was; together they would have cost 0.24.
  expect(dollars(team.agent.now.spending.total.cost_usd)).toBe(0.122);
});

test("who only waits when the money is gone ends too, and leaves what it had", async () => {
  const { promise: bobWaits, resolve: heDoes } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Wait for the rich",
    budget_usd: 0.1,
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Bob" })),
      both(made("Alice's part", { worker: "Alice" }), made("Bob's part", { worker: "Bob" })),
      call("finish", { summary: "rich" }).after("everything is paid"),
    ),
    workers: {
      Alice: script(written("a.md", "a"), costing(written("b.md", "b"), 0.2).until(bobWaits)),
      Bob: script(both(written("draft.md", "a beginning"), call("check_messages", { wait: true }))),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.worker_id === "bob") heDoes();
  });
  await team.agent.idle();
  expect(
    team
      .board()
      .map((node) => [
        node.status === "failed" && node.outcome,
        "files" in node && node.files.map((file) => file.path),
      ]),
  ).toEqual([
    [{ kind: "budget_exhausted", spent_usd: 0.2 }, ["a.md", "b.md"]],
    [{ kind: "budget_exhausted", spent_usd: 0.2 }, ["draft.md"]],
  ]);
  expect(Object.values(team.agent.now.roster).map(({ id, status }) => [id, status])).toEqual([
    ["coordinator", "idle"],
    ["alice", "idle"],
    ["bob", "idle"],
  ]);
});

/** A mind that takes some turns of the event loop to answer, as over a network. */
class SlowScript extends ScriptedModel {
  static most = 0;
  static #thinking = 0;
  override async reply(request: ModelRequest, signal: AbortSignal) {
    SlowScript.#thinking += 1;
    SlowScript.most = Math.max(SlowScript.most, SlowScript.#thinking);
    try {
      for (let turn = 0; turn < 50; turn++) await setImmediate();
      return await super.reply(request, signal);
    } finally {
      SlowScript.#thinking -= 1;
    }
  }
}

test("a share is reserved from what is left above it: too large a one is refused, and nothing is on the board", async () => {
  await using team = await startTeam({
    goal: "Share",
    budget_usd: 1,
    coordinator: script(
      costing(made("The whole", { budget_usd: 2 }), 0.1),
      made("The whole", { budget_usd: 0.5 }),
      made("Another whole", { budget_usd: 0.41 }),
      call("finish", { summary: "shared" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        costing(made("A part", { budget_usd: 0.5 }), 0.1),
        made("A part", { budget_usd: 0.3 }),
        made("Another part", { budget_usd: 0.2 }),
        written("a.md", "a").after("node-2 completed"),
        call("publish", { summary: "a" }),
      ),
      Bob: script(
        costing(made("A piece", { budget_usd: 0.31 }), 0.02),
        written("b.md", "b"),
        call("publish", { summary: "b" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "shared" });
  expect((await answersTo(team, "coordinator")).slice(0, 3)).toEqual([
    ["create_work_node", false, "Not created: $2 is more than the $0.9000 that the agent has left."],
    ["create_work_node", true, "Created node-1: Alice has begun."],
    ["create_work_node", false, "Not created: $0.41 is more than the $0.4000 that the agent has left."],
  ]);
  expect((await answersTo(team, "alice")).slice(0, 3)).toEqual([
    ["create_work_node", false, "Not created: $0.5 is more than the $0.4000 that node-1 has left."],
    ["create_work_node", true, "Created node-2: Bob has begun."],
    ["create_work_node", false, "Not created: $0.2 is more than the $0.1000 that node-1 has left."],
  ]);
  expect((await answersTo(team, "bob"))[0]).toEqual([
    "create_work_node",
    false,
    "Not created: $0.31 is more than the $0.2800 that node-2 has left.",
  ]);
  expect(team.board().map((node) => [node.id, node.spec.budget_usd, dollars(node.spent_usd)])).toEqual([
    ["node-1", 0.5, 0.12],
    ["node-2", 0.3, 0.02],
  ]);
});

test("whoever has spent their share ends with what they had; the others go on", async () => {
  await using team = await startTeam({
    goal: "Share",
    coordinator: script(
      made("The whole", { budget_usd: 1 }),
      call("finish", { summary: "shared" }).after("node-1 completed by Alice"),
    ),
    workers: {
      Alice: script(
        made("A part", { budget_usd: 0.2 }),
        costing(call("read_file", { path: "nodes/node-2/published/b.md" }), 0.3).after(
          "node-2 failed: budget exhausted. What was done is in nodes/node-2/published/b.md.",
        ),
        written("a.md", "a").after("half of b"),
        call("publish", { summary: "a" }),
      ),
      Bob: script(
        costing(written("b.md", "a quarter of b"), 0.09),
        costing(written("b.md", "a third of b"), 0.09),
        costing(written("b.md", "half of b"), 0.09),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "shared" });
  expect(
    team
      .board()
      .map((node) => [node.id, node.status, node.status === "failed" && node.outcome.kind, dollars(node.spent_usd)]),
  ).toEqual([
    ["node-1", "completed", false, 0.57],
    ["node-2", "failed", "budget_exhausted", 0.27],
  ]);
  expect(
    team
      .board()
      .flatMap((node) =>
        node.status === "failed" && "spent_usd" in node.outcome ? [dollars(node.outcome.spent_usd)] : [],
      ),
  ).toEqual([0.27]);
  const notes = "runs/run-1/nodes/node-2/failure_notes.md";
  expect(await readFile(join(team.agent.log.dir, notes), "utf8")).toMatch(
    /^# Failure notes for node-2\n\nThe budget is spent \(\$0\.2700\)\.\n/,
  );
});

test("what is reserved is spent by nobody else: the coordinator waits for it, and what is left comes back to it", async () => {
  await using team = await startTeam({
    goal: "Share",
    budget_usd: 1,
    coordinator: script(
      costing(made("A part", { budget_usd: 0.5 }), 0.5),
      call("finish", { summary: "shared" }).after("node-1 completed"),
    ),
    workers: { Alice: script(costing(written("a.md", "a"), 0.1), call("publish", { summary: "a" })) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "shared" });
  const life = (await team.facts()).flatMap(({ type, data }) =>
    "worker_id" in data && data.worker_id === "coordinator" && /^(worker\.(busy|waiting)|model\.called)$/.test(type)
      ? [type]
      : type === "node.completed"
        ? [type]
        : [],
  );
  expect(life.slice(0, 6)).toEqual([
    "worker.busy",
    "model.called",
    "worker.waiting",
    "node.completed",
    "worker.busy",
    "model.called",
  ]);
});

test("a share without one of its own draws on the next above it that has one", async () => {
  await using team = await startTeam({
    goal: "Share",
    coordinator: script(
      made("The whole", { budget_usd: 0.2 }),
      call("finish", { summary: "shared" }).after("node-1 failed: budget exhausted"),
    ),
    workers: {
      Alice: script(made("A part"), call("publish", { summary: "a" }).after("node-2 completed")),
      Bob: script(
        made("A piece", { budget_usd: 0.3 }),
        costing(written("b.md", "b").after("$0.3 is more than the $0.2000 that node-1 has left."), 0.25),
      ),
    },
  });
  await team.agent.idle();
  expect(team.board().map((node) => [node.id, node.status === "failed" && node.outcome.kind])).toEqual([
    ["node-1", "budget_exhausted"],
    ["node-2", "budget_exhausted"],
  ]);
});

test("in a team of mixed models everyone's spending is known", async () => {
  const cheap = "openai/gpt-4o-mini";
  const strong = "anthropic/claude-opus-4-5";
  const usage = { input: 1000, output: 100 };
  await using team = await startTeam({
    goal: "Mix",
    budget_usd: 10,
    coordinator: script(
      both(
        call("spawn_worker", { name: "Alice", model: strong }),
        call("spawn_worker", { name: "Bob", model: cheap }),
      ).with({ cost_usd: 0.05, usage }),
      both(made("Think", { worker: "Alice" }), made("Format", { worker: "Bob" })).with({ cost_usd: 0.05, usage }),
      call("finish", { summary: "mixed" })
        .after("node-1 completed", "node-2 completed")
        .with({ cost_usd: null, usage }),
    ),
    workers: {
      Alice: script(
        written("a.md", "a").with({ cost_usd: 1.5, usage }),
        call("publish", { summary: "a" }).with({ cost_usd: 1, usage }),
      ).with({ id: strong }),
      Bob: script(
        written("b.md", "b").with({ cost_usd: 0.001, usage }),
        call("publish", { summary: "b" }).with({ cost_usd: 0.002, usage }),
      ).with({ id: cheap }),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "mixed" });
  const { total, by_worker } = team.agent.now.spending;
  const priced = ({ usage: used, cost_usd, unpriced_calls }: typeof total) => [
    used.output / 100,
    dollars(cost_usd),
    unpriced_calls,
  ];
  expect(Object.fromEntries(Object.entries(by_worker).map(([id, tally]) => [id, priced(tally)]))).toEqual({
    coordinator: [3, 0.1, 1],
    alice: [2, 2.5, 0],
    bob: [2, 0.003, 0],
  });
  expect(priced(total)).toEqual([7, 2.603, 1]);
  expect(team.board().map((node) => dollars(node.spent_usd))).toEqual([2.5, 0.003]);
  const models = (await team.facts()).flatMap((fact) =>
    fact.type === "model.responded" ? [`${fact.data.worker_id} ${fact.data.model}`] : [],
  );
  expect([...new Set(models)].toSorted()).toEqual([`alice ${strong}`, `bob ${cheap}`, "coordinator scripted/model"]);
});

test("where a budget is set, nobody is hired, and nothing goes on, with a model whose price nobody knows", async () => {
  await using home = await temporaryHome();
  const hire = (name: string, model: string) => call("spawn_worker", { name, model });
  const role = { name: "Carol", title: "Worker", prompt: "Work." };
  const mind = script(
    hire("Alice", "free/priced"),
    hire("Bob", "secret/price"),
    call("launch_roles", { name: "Work", roles: [{ ...role, model: "secret/price" }] }),
    call("list_files").with({ cost_usd: 1 }),
  );
  const catalog = {
    model: async () => mind,
    list: async () => [],
    programOf: () => undefined,
    chooseDefault: async () => ({ model: "free/priced", why: "" }),
    cost: async (id: string) => (id.startsWith("secret/") ? null : 0),
    resolve: (id: string) => ({ id, contextWindow: 200_000, searchesWeb: false, note: null }),
  };
  const runtime = await openRuntime({ home: home.path, env: {}, config: {} }, { catalog });
  try {
    const agent = await runtime.create({ goal: "Hire", model: "free/priced", budget_usd: 1 });
    await agent.idle();
    const entries = await agent.log.conversation("conversation.jsonl");
    const answers = entries.flatMap((entry) =>
      entry.role === "tool" && entry.tool !== "list_files" ? [[entry.ok, entry.content.split(",", 1)[0]]] : [],
    );
    expect(answers).toEqual([
      [true, 'Alice is hired and waits for work. Create a node with worker: "Alice"'],
      [false, "Not hired: No price is known for secret/price"],
      [false, "Not launched: No price is known for secret/price"],
    ]);
    expect(Object.keys(agent.now.roster)).toEqual(["coordinator", "alice"]);

    // Hired while there was no budget, or while the price was known.
    const data = {
      run_id: "run-1",
      worker_id: "dora",
      name: "Dora",
      kind: "harnessed",
      model: "secret/price",
    } as const;
    await agent.log.append({ facts: [{ type: "worker.spawned", data }] }).durable;
    const { seq } = agent.log;
    await expect(agent.start("resumed", { budget_usd: 2 })).rejects.toThrow("No price is known for secret/price");
    expect([agent.log.seq, agent.now.agent.status]).toEqual([seq, "failed"]);
  } finally {
    await runtime.close();
  }
});

test("tokens that are spent are said so, and more of them may be allowed", async () => {
  const usage = { input: 900, output: 100 };
  const coordinator = script(call("list_files").with({ usage }), call("finish", { summary: "more" }).with({ usage }));
  await using team = await startTeam({ goal: "Spend", budget_tokens: 1000, coordinator });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "budget_exhausted", spent_usd: 0, spent_tokens: 1000 });
  await expect(team.agent.start("resumed")).rejects.toThrow(
    "The budget of 1000 tokens is used up: 1000 tokens are spent. Continue with more: --budget-tokens N.",
  );
  await expect(team.agent.start("resumed", { budget_tokens: 1000 })).rejects.toThrow("1000 tokens are already spent");
  await team.agent.start("resumed", { budget_tokens: 1001 });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "more" });
  const told = (await team.facts()).flatMap((fact) =>
    fact.type.startsWith("budget.") ? [[fact.type, fact.data]] : [],
  );
  const spent = { spent_usd: 0, spent_tokens: 1000, budget_tokens: 1000 };
  expect(told).toEqual([
    ["budget.warned", spent],
    ["budget.exceeded", spent],
    ["budget.set", { budget_tokens: 1001 }],
    ["budget.warned", { ...spent, budget_tokens: 1001 }],
  ]);
});
