import { expect, test, vi } from "vitest";
import { checkResponses } from "../testing/checked-responses.ts";
import { both, call, hang, script } from "../testing/index.ts";
import { startServer, type TestResponse, type TestServer } from "../testing/start-server.ts";

const ORDER = { goal: "Which chip is faster?", name: "Chips", worker_model: "scripted/worker" };
const ASK = call("ask_human", { question: "Which one?", choices: ["A", "B"] });
const DONE = call("finish", { summary: "B is faster" });

test("a node is changed and cancelled through the API; one that has ended is a conflict", async () => {
  await using house = await startServer({
    coordinator: script(
      call("create_work_node", { task: "Measure chip A", checks: ["false"] }),
      DONE.after("Your human cancelled node-1: Too slow."),
    ),
    workers: { Alice: script(hang()) },
  });
  await checkResponses(house);
  const id = await made(house);
  await house.until(id, ({ board }) => board.nodes["node-1"]?.status === "running");
  const patch = (body: object) => house.ask("PATCH", `/agents/${id}/board/node-1`, body);
  expect([await patch({ checks: [] }), await patch({}), await patch({ priority: 1 })]).toMatchObject([
    { status: 200, body: { status: "delivered", detail: "node-1 is changed. Alice is told." } },
    { status: 409 },
    { status: 400 },
  ]);
  const cancel = (node: string) => house.post(`/agents/${id}/board/${node}/cancel`, { reason: "Too slow." });
  expect([await cancel("node-1"), await cancel("node-9")]).toMatchObject([
    { status: 200, body: { status: "delivered", detail: "node-1 is cancelled." } },
    { status: 404 },
  ]);
  await house.until(id, ({ agent }) => agent.status === "completed");
  expect((await house.get(`/agents/${id}/board/node-1`)).body).toMatchObject({
    status: "cancelled",
    result_preview: "Too slow.",
    outcome: null,
  });
});

test("a list has the beginnings of long texts; an agent by itself has them whole", async () => {
  const [goal, summary] = ["Why? ".repeat(400), "Because. ".repeat(5_000)].map((text) => text.trim());
  await using house = await startServer({ coordinator: script(call("finish", { summary })) });
  const { id } = (await house.post("/agents", { ...ORDER, goal })).body as { id: string };
  await house.until(id, ({ agent }) => agent.status === "completed");
  expect((await house.get(`/agents/${id}`)).body).toMatchObject({ goal, summary });
  const { agents } = (await house.get("/agents")).body as { agents: { goal: string; summary: string }[] };
  expect(agents.map((listed) => [listed.goal, listed.summary])).toEqual([
    [`${goal?.slice(0, 999)}…`, `${summary?.slice(0, 999)}…`],
  ]);
});

test("an agent is made, does its work, and everything about it can be looked at", async () => {
  await using house = await startServer({
    coordinator: script(
      call("create_work_node", { task: "Measure chip A", deliverables: ["a.md"] }),
      DONE.after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/a.md", content: "A: 80\n" }),
        call("publish", { summary: "A: 80" }),
      ),
    },
  });
  const { routes } = await checkResponses(house);
  const id = await made(house);
  await house.until(id, ({ agent }) => agent.status === "completed");

  const { body } = await house.get(`/agents/${id}`);
  expect(body).toEqual({
    id,
    name: "Chips",
    goal: ORDER.goal,
    mode: "finite",
    status: "completed",
    asleep: false,
    archived: false,
    model: "scripted/coordinator",
    worker_model: "scripted/worker",
    run_id: "run-1",
    current_stage: null,
    node_count: 1,
    nodes_completed: 1,
    nodes_failed: 0,
    worker_count: 2,
    open_questions: 0,
    needs_decision: false,
    unread: 0,
    trouble: null,
    meshes_of: null,
    cost_usd: 0,
    unpriced_calls: 0,
    budget_usd: null,
    summary: "B is faster",
    error: null,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
    seq: expect.any(Number),
    results: [{ path: "runs/run-1/nodes/node-1/published/a.md", bytes: 6, by: "alice", changed: false }],
  });
  const { results: _, ...summary } = body as { results: unknown };
  expect((await house.get("/agents")).body).toEqual({ agents: [summary], unreadable: [], next_after: null });

  const node = {
    id: "node-1",
    run_id: "run-1",
    stage: expect.any(Number),
    task: "Measure chip A",
    status: "completed",
    assigned_worker: "alice",
    parent_node: null,
    children: [],
    dependencies: [],
    deliverables: ["a.md"],
    created_by: "coordinator",
    created_at: expect.any(Number),
    ended_at: expect.any(Number),
    result_preview: "A: 80",
    cost_usd: 0,
  };
  expect((await house.get(`/agents/${id}/board`)).body).toMatchObject({ nodes: [node], next_after: null });
  const detail = (await house.get(`/agents/${id}/board/node-1`)).body as { log: { events: { type: string }[] } };
  expect(detail).toEqual({
    ...node,
    spec: expect.stringContaining("Measure chip A"),
    refs: {},
    summary: "A: 80",
    outcome: null,
    manifest: [{ path: "a.md", sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 6 }],
    folder: "runs/run-1/nodes/node-1",
    scratch: [],
    published: [{ path: "runs/run-1/nodes/node-1/published/a.md", kind: "file", bytes: 6 }],
    why: { created_by: "coordinator", parent_node: null, parent_task: null, goal: ORDER.goal, seq: expect.any(Number) },
    log: { events: expect.any(Array), next_after: null },
  });
  expect(detail.log.events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["node.created", "node.assigned", "node.started", "node.published", "node.completed"]),
  );
  const firstOfLog = (await house.get(`/agents/${id}/board/node-1?limit=1`)).body as typeof detail;
  expect(firstOfLog.log).toMatchObject({ events: [{ type: "node.created" }], next_after: expect.any(Number) });

  expect((await house.get(`/agents/${id}/workers`)).body).toMatchObject({
    workers: [
      { id: "coordinator", name: "Coordinator", status: "idle", node_id: null },
      { id: "alice", name: "Alice", status: "idle", node_id: null, calls: 2 },
    ],
  });
  const said = (await house.get(`/agents/${id}/workers/alice/conversation`)).body as { entries: { role: string }[] };
  expect(said.entries.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "tool"]);
  expect((await house.get(`/agents/${id}/workers/alice/conversation?limit=2`)).body).toMatchObject({
    entries: [
      { role: "assistant", seq: 5 },
      { role: "tool", seq: 6 },
    ],
    next_before: 5,
  });
  expect((await house.get(`/agents/${id}/workers/alice/conversation?limit=3&before=5`)).body).toMatchObject({
    entries: [{ seq: 2 }, { seq: 3 }, { seq: 4 }],
    next_before: 2,
  });
  expect((await house.get(`/agents/${id}/workers/alice/conversation?before=2`)).body).toMatchObject({
    entries: [{ role: "system", seq: 1 }],
    next_before: null,
  });
  expect((await house.get(`/agents/${id}/conversation`)).body).toMatchObject({
    messages: [
      { from: "human", to: "coordinator", text: ORDER.goal },
      { from: "coordinator", to: "human", text: "B is faster" },
    ],
    next_before: null,
  });
  const newest = (await house.get(`/agents/${id}/conversation?limit=1`)).body as { next_before: number };
  expect(newest).toMatchObject({ messages: [{ text: "B is faster" }], next_before: expect.any(Number) });
  expect((await house.get(`/agents/${id}/conversation?before=${newest.next_before}`)).body).toMatchObject({
    messages: [{ text: ORDER.goal }],
    next_before: null,
  });
  expect((await house.get(`/agents/${id}/questions`)).body).toEqual({ questions: [], next_after: null });
  expect((await house.get("/inbox")).body).toEqual({ items: [], next_after: null });
  expect((await house.get("/models")).body).toEqual({
    models: [],
    prefixes: [],
    default: { model: "scripted/coordinator", why: "scripted", worker_model: null, budget_usd: null, project: null },
    projects: [],
    next_after: null,
  });
  expect(await allEvents(house, id, 7)).toEqual(
    Array.from({ length: (body as { seq: number }).seq }, (_, index) => index + 1),
  );
  // Without a number to begin after, the newest.
  const { seq: highest } = body as { seq: number };
  expect((await house.get(`/agents/${id}/events?limit=2`)).body).toMatchObject({
    events: [{ seq: highest - 1 }, { seq: highest }],
    next_after: null,
  });
  expect(routes.size).toBe(12);
});

test("what waits for the human is in one inbox, and an answer lets the work go on", async () => {
  await using house = await startServer({
    coordinator: script(
      both(call("send_message", { to: "human", content: "I begin." }), ASK),
      DONE.after("answers: B"),
    ),
  });
  await checkResponses(house);
  const id = await made(house);
  const { body } = await asked(house, id);
  expect(body).toEqual({
    questions: [
      {
        id: "question-1",
        worker_id: "coordinator",
        worker_name: "Coordinator",
        node_id: null,
        text: "Which one?",
        choices: ["A", "B"],
        asked_at: expect.any(Number),
        deadline: null,
        default: null,
      },
    ],
    next_after: null,
  });
  const whose = { agent: { id, name: "Chips" }, from: { id: "coordinator", name: "Coordinator" } };
  expect((await house.get("/inbox")).body).toMatchObject({
    items: [
      { kind: "message", text: "I begin.", ...whose },
      { kind: "question", id: "question-1", ...whose },
    ],
  });
  const first = (await house.get("/inbox?limit=1")).body as { items: { kind: string }[]; next_after: string };
  const rest = (await house.get(`/inbox?after=${encodeURIComponent(first.next_after)}`)).body as typeof first;
  expect([first, rest].map(({ items }) => items.map(({ kind }) => kind))).toEqual([["message"], ["question"]]);
  expect(await house.post(`/agents/${id}/seen`)).toEqual({
    status: 200,
    body: { status: "delivered", detail: "Seen." },
  });
  expect((await house.get("/inbox")).body).toMatchObject({ items: [{ kind: "question" }] });

  expect(await house.post(`/agents/${id}/respond`, { response: "2", question_id: "question-1" })).toEqual({
    status: 200,
    body: { status: "delivered", detail: "Answered." },
  });
  await house.until(id, ({ agent }) => agent.status === "completed");
  const again = await house.post(`/agents/${id}/respond`, { response: "2", question_id: "question-1" });
  expect(refusal(again)).toEqual([409, "conflict"]);
});

test("an agent is paused, resumed, stopped, archived and restored; what is not the time for it is refused", async () => {
  await using house = await startServer({ coordinator: script(ASK) });
  await checkResponses(house);
  const id = await made(house);
  await asked(house, id);
  const steps: [string, string, TestResponse][] = [];
  const step = async (method: "POST" | "DELETE", path: string, body?: object) =>
    steps.push([method, path, await house.ask(method, `/agents/${id}${path}`, body)]);
  await step("POST", "/restore");
  await step("POST", "/resume");
  await step("POST", "/pause");
  await step("POST", "/pause");
  await step("POST", "/nudge", { message: "hurry" });
  await step("POST", "/stop");
  await step("POST", "/resume", { budget_tokens: 1_000_000 });
  await step("POST", "/stop");
  await step("DELETE", "");
  await step("DELETE", "");
  await step("POST", "/send", { message: "hello" });
  await step("POST", "/respond", { response: "B" });
  await step("POST", "/resume");
  await step("POST", "/triggers", { type: "delayed", config: { delay_seconds: 60 }, action: "Look" });
  await step("POST", "/restore");
  expect(steps.map(([method, path, answer]) => [method, path, ...standing(answer)])).toEqual([
    ["POST", "/restore", 200, "waiting_for_human", false],
    ["POST", "/resume", 409, "conflict"],
    ["POST", "/pause", 200, "paused", false],
    ["POST", "/pause", 200, "paused", false],
    ["POST", "/nudge", 409, "conflict"],
    ["POST", "/stop", 409, "conflict"],
    ["POST", "/resume", 200, "waiting_for_human", false],
    ["POST", "/stop", 200, "stopped", false],
    ["DELETE", "", 200, "stopped", true],
    ["DELETE", "", 200, "stopped", true],
    ["POST", "/send", 409, "conflict"],
    ["POST", "/respond", 409, "conflict"],
    ["POST", "/resume", 409, "conflict"],
    ["POST", "/triggers", 409, "conflict"],
    ["POST", "/restore", 200, "stopped", false],
  ]);
});

test("an archived agent is out of sight, not gone", async () => {
  await using house = await startServer({ coordinator: script(ASK) });
  await checkResponses(house);
  const id = await made(house);
  await asked(house, id);
  expect((await house.delete(`/agents/${id}`)).status).toBe(200);
  const shown = async (query: string) => {
    const { agents } = (await house.get(`/agents${query}`)).body as { agents: { id: string }[] };
    return agents.map((each) => each.id);
  };
  expect([await shown(""), await shown("?archived=true"), await shown("?archived=all")]).toEqual([[], [id], [id]]);
  expect((await house.get("/inbox")).body).toEqual({ items: [], next_after: null });
  expect((await house.get(`/agents/${id}/board`)).status).toBe(200);
});

test("nothing is said to an archived agent, and nothing of it is on record", async () => {
  await using house = await startServer({ coordinator: script(hang()) });
  const id = await made(house);
  const agent = await house.until(
    id,
    ({ spending, agent: { status } }) => status === "working" && spending.total.calls === 0,
  );
  await house.delete(`/agents/${id}`);
  const before = agent.log.seq;
  expect(refusal(await house.post(`/agents/${id}/send`, { message: "hello" }))).toEqual([409, "conflict"]);
  expect(refusal(await house.post(`/agents/${id}/resume`))).toEqual([409, "conflict"]);
  expect(agent.log.seq).toBe(before);
});

test("agents that nobody named have names of their own, also when they are made at once", async () => {
  await using house = await startServer({ coordinator: script(hang()) });
  const order = { goal: "Count the stars" };
  const together = await Promise.all([house.post("/agents", order), house.post("/agents", order)]);
  const named = [
    ...together,
    await house.post("/agents", order),
    await house.post("/agents", { ...order, name: "Zoë" }),
  ];
  expect(named.map(({ body }) => (body as { name: string }).name).sort()).toEqual([
    "Zoë",
    "count-stars",
    "count-stars-2",
    "count-stars-3",
  ]);
});

test("a page of agents goes on although the one it ended with was archived", async () => {
  await using house = await startServer({ coordinator: script(hang()) });
  for (let n = 0; n < 3; n++) await made(house);
  const page = async (query: string) => {
    const { agents, next_after } = (await house.get(`/agents${query}`)).body as {
      agents: { id: string }[];
      next_after: string | null;
    };
    return [...agents.map(({ id }) => id), next_after];
  };
  const ids = await page("");
  expect(await page("?limit=1")).toEqual([ids[0], ids[0]]);
  await house.delete(`/agents/${ids[0]}`);
  expect(await page(`?limit=1&after=${ids[0]}`)).toEqual([ids[1], ids[1]]);
  expect(await page(`?limit=5&after=${ids[1]}`)).toEqual([ids[2], null]);
});

test("no body is no body, whatever type it is said to have; whoever watches may want the code alone", async () => {
  await using house = await startServer({ coordinator: script(hang()) });
  const id = await made(house);
  const empty = async (method: string, path: string) =>
    (await house.fetch(path, { method, headers: { "content-type": "application/json" } })).status;
  expect([
    await empty("POST", `/agents/${id}/stop`),
    await empty("POST", `/agents/${id}/resume`),
    await empty("DELETE", `/agents/${id}`),
    await empty("POST", "/agents"),
    await empty("POST", `/agents/${id}/send`),
  ]).toEqual([200, 200, 200, 400, 400]);
  const health = await house.fetch("/healthz", { method: "HEAD" });
  expect([health.status, await health.text()]).toEqual([200, ""]);
});

test("what cannot be opened is not said to be missing, and idle connections make room", async () => {
  await using house = await startServer({ coordinator: script(hang()) });
  const id = await made(house);
  const { store } = house.runtime;
  vi.spyOn(store, "open").mockRejectedValue(Object.assign(new Error("too many open files"), { code: "EMFILE" }));
  const closeIdle = vi.spyOn(house.app.server, "closeIdleConnections");
  expect(refusal(await house.get(`/agents/${id}`))).toEqual([503, "too_many_files"]);
  expect(closeIdle).toHaveBeenCalledOnce();
  vi.restoreAllMocks();
  expect((await house.get(`/agents/${id}`)).status).toBe(200);
});

test("something is made to happen later, seen, and cancelled", async () => {
  await using house = await startServer({ coordinator: script(ASK) });
  await checkResponses(house);
  const id = await made(house);
  await asked(house, id);
  const order = { type: "at_time", config: { at: "2099-01-01T09:00:00", time_zone: "UTC" }, action: "Look again" };
  const record = {
    id: "trigger-1",
    agent_id: id,
    type: "at_time",
    action: { type: "wake_agent", payload: { task: "Look again" } },
    status: "active",
    created_at: expect.any(Number),
    created_by: "human",
    metadata: order.config,
    missed: "once",
    due: 4_070_941_200,
    fired: 0,
  };
  const detail = expect.stringMatching(/^Scheduled trigger-1 /);
  expect(await house.post(`/agents/${id}/triggers`, order)).toEqual({ status: 201, body: { ...record, detail } });
  expect((await house.get(`/agents/${id}/triggers`)).body).toEqual({ triggers: [record], next_after: null });
  const past = { ...order, config: { at: "1999-01-01T09:00:00" } };
  expect(refusal(await house.post(`/agents/${id}/triggers`, past))).toEqual([400, "bad_request"]);
  expect(await house.delete(`/agents/${id}/triggers/trigger-1`)).toEqual({
    status: 200,
    body: { ...record, status: "cancelled", due: null, detail: "trigger-1 is cancelled." },
  });
  expect(refusal(await house.delete(`/agents/${id}/triggers/trigger-9`))).toEqual([404, "not_found"]);
});

test("who was interrupted goes on when the server starts again, and who rests is only looked at", async () => {
  const first = await startServer({ coordinator: script(ASK) });
  const id = await made(first);
  await asked(first, id);
  const home = first.runtime.store.root;
  const summary = (await first.get(`/agents/${id}`)).body;
  await first.app.close();
  await first.runtime.close();
  try {
    await using second = await startServer({ home, coordinator: script(DONE.after("answers: B")) });
    expect((await second.get(`/agents/${id}`)).body).toMatchObject({
      ...(summary as object),
      seq: expect.any(Number),
      updated_at: expect.any(Number),
    });
    expect(second.runtime.opened(id)).toBeUndefined();
    const failed: unknown[] = [];
    await second.app.agents.takeUp((...failure) => failed.push(failure));
    expect(failed).toEqual([]);
    expect((await second.post(`/agents/${id}/respond`, { response: "B" })).status).toBe(200);
    await second.until(id, ({ agent }) => agent.status === "completed");
  } finally {
    await first[Symbol.asyncDispose]();
  }
});

test("every bad field is named, every unknown id is not found, and nothing changes", async () => {
  await using house = await startServer({ coordinator: script(ASK) });
  await checkResponses(house);
  const id = await made(house);
  const agent = await house.until(id, ({ questions }) => "question-1" in questions.open);
  const before = agent.log.seq;
  const bad: [string, string, unknown, string | undefined][] = [
    ["POST", "/agents", {}, "goal"],
    ["POST", "/agents", { goal: "  " }, "goal"],
    ["POST", "/agents", { goal: "x".repeat(32_001) }, "goal"],
    ["POST", "/agents", { goal: 5 }, "goal"],
    ["POST", "/agents", { goal: "Go", name: "" }, "name"],
    ["POST", "/agents", { goal: "Go", name: "a\u001b[2Jb" }, "name"],
    ["POST", "/agents", { goal: "Go", model: "" }, "model"],
    ["POST", "/agents", { goal: "Go", worker_model: 1 }, "worker_model"],
    ["POST", "/agents", { goal: "Go", mode: "eternal" }, "mode"],
    ["POST", "/agents", { goal: "Go", tools: "all" }, "tools"],
    ["POST", "/agents", { goal: "Go", tools: [""] }, "tools.0"],
    ["POST", "/agents", { goal: "Go", budget_usd: 0 }, "budget_usd"],
    ["POST", "/agents", { goal: "Go", budget_tokens: 1.5 }, "budget_tokens"],
    ["POST", "/agents", { goal: "Go", cycle_seconds: 0 }, "cycle_seconds"],
    ["POST", "/agents", { goal: "Go", cycle_seconds: 1e12 }, "cycle_seconds"],
    ["POST", "/agents", { goal: "Go", command: "rm" }, "command"],
    ["POST", "/agents", { goal: "Go", tools: ["websearch"] }, "tools"],
    ["GET", "/agents?limt=5", undefined, "querystring.limt"],
    ["GET", "/agents/ID?verbose=1", undefined, "querystring.verbose"],
    ["GET", "/agents/ID/events?since=3", undefined, "querystring.since"],
    ["POST", "/agents", { goal: "Go", project: "docs" }, undefined],
    ["POST", "/agents", { goal: "Go", project: "/nowhere/at/all" }, undefined],
    ["POST", "/agents", [], "body"],
    ["POST", "/agents/ID/resume", { budget_usd: -1 }, "budget_usd"],
    ["POST", "/agents/ID/send", {}, "message"],
    ["POST", "/agents/ID/send", { message: "hi", to: "" }, "to"],
    ["POST", "/agents/ID/nudge", { message: "" }, "message"],
    ["POST", "/agents/ID/respond", { answer: "B" }, "response"],
    ["POST", "/agents/ID/respond", { response: "B", question_id: 1 }, "question_id"],
    ["POST", "/agents/ID/memory/search", { query: " " }, "query"],
    ["POST", "/agents/ID/memory/search", { query: "x", limit: 0 }, "limit"],
    ["POST", "/agents/ID/triggers", { type: "never", config: {}, action: "x" }, "type"],
    ["POST", "/agents/ID/triggers", { type: "delayed", config: 5, action: "x" }, "config"],
    ["POST", "/agents/ID/triggers", { type: "delayed", config: {}, action: 7 }, "action"],
    ["POST", "/agents/ID/triggers", { type: "delayed", config: { delay_seconds: -1 }, action: "x" }, undefined],
    ["GET", "/agents?limit=0", undefined, "querystring.limit"],
    ["GET", "/agents?limit=1001", undefined, "querystring.limit"],
    ["GET", "/agents?archived=maybe", undefined, "querystring.archived"],
    ["GET", "/agents?after=agent-zzzz", undefined, undefined],
    ["GET", "/agents/ID/events?after=-1", undefined, "querystring.after"],
    ["GET", "/agents/ID/events?after=x", undefined, "querystring.after"],
    ["GET", "/agents/ID/conversation?before=0", undefined, "querystring.before"],
    ["GET", "/agents/ID/workspace?archive=tar", undefined, "querystring.archive"],
    ["GET", "/agents/ID/workspace?archive=zip", undefined, undefined],
    ["GET", "/agents/ID/memory?archive=zip", undefined, undefined],
    ["GET", "/agents/ID/memory/MEMORY.md?archive=zip", undefined, undefined],
  ];
  const wrong: unknown[] = [];
  for (const [method, path, body, field] of bad) {
    const answer = await house.ask(method, path.replace("ID", id), body);
    const { error } = answer.body as { error: { code: string; message: string; details?: { field: string }[] } };
    const isNamed = field === undefined || error.details?.some((detail) => detail.field === field);
    const isPlain = !/Invalid|Too (?:big|small)|received/.test(error.message);
    if (answer.status !== 400 || error.code !== "bad_request" || !isNamed || !isPlain)
      wrong.push([method, path, body, answer]);
  }
  expect(wrong).toEqual([]);
  const near = async (method: string, path: string, body?: object) =>
    ((await house.ask(method, path, body)).body as { error: { message: string } }).error.message;
  expect(await near("POST", "/agents", { goal: 5 })).toBe("goal: expected text in quotes; there is a number");
  expect(await near("POST", "/agents", {})).toBe("goal: expected text in quotes; it is missing");
  expect(await near("POST", `/agents/${id}/triggers`, { type: "delayed", config: {}, action: 7 })).toBe(
    "action: expected text in quotes or an object in braces",
  );
  expect(await near("POST", "/agents", { goal: "Go", modle: "x/y" })).toMatch(
    /^modle: there is no field "modle"\. Did you mean "model"\? Choose from: goal, name, model, /,
  );
  expect(await near("GET", "/agents?limt=5")).toBe(
    'querystring.limt: there is no field "limt". Did you mean "limit"? Choose from: after, limit, archived',
  );
  expect(await near("POST", "/agents", { goal: "Go", tools: ["websearch"] })).toMatch(/Did you mean "web_search"\?/);

  const nowhere: [string, string, object?][] = [
    ...[
      "",
      "/questions",
      "/conversation",
      "/board",
      "/workers",
      "/workspace",
      "/workspace/GOAL.md",
      "/memory",
      "/memory/a.md",
      "/triggers",
      "/events",
    ].flatMap((path): [string, string][] => [
      ["GET", `/agents/agent-zzzz${path}`],
      ["GET", `/agents/constructor${path}`],
    ]),
    ...["pause", "stop", "resume", "restore", "seen"].map((deed): [string, string] => [
      "POST",
      `/agents/agent-zzzz/${deed}`,
    ]),
    ["POST", "/agents/agent-zzzz/send", { message: "hi" }],
    ["POST", "/agents/agent-zzzz/memory/search", { query: "hi" }],
    ["DELETE", "/agents/agent-zzzz"],
    ["DELETE", "/agents/agent-zzzz/triggers/trigger-1"],
    ["GET", "/agents/ID/board/node-9"],
    ["GET", "/agents/ID/board/constructor"],
    ["GET", "/agents/ID/workers/nobody/conversation"],
    ["GET", "/agents/ID/workers/__proto__/conversation"],
    ["GET", "/agents/ID/workspace/nothing.md"],
    ["GET", "/agents/ID/memory/nothing.md"],
    ["POST", "/agents/ID/respond", { response: "B", question_id: "question-9" }],
    ["POST", "/agents/ID/send", { message: "hi", to: "Nobody" }],
    ["PUT", "/agents/ID"],
  ];
  const found: unknown[] = [];
  for (const [method, path, body] of nowhere) {
    const answer = await house.ask(method, path.replace("ID", id), body);
    if (refusal(answer).join() !== "404,not_found") found.push([method, path, answer]);
  }
  expect(found).toEqual([]);
  expect(agent.log.seq).toBe(before);
});

test("a model that cannot be used here is refused before anything is made, with what to do", async () => {
  await using house = await startServer({});
  await checkResponses(house);
  const answer = await house.post("/agents", { goal: "Go", model: "anthropic/claude-sonnet-5" });
  expect(refusal(answer)).toEqual([400, "unusable_model"]);
  expect(JSON.stringify(answer.body)).toContain("ANTHROPIC_API_KEY");
  expect(refusal(await house.post("/agents", { goal: "Go", worker_model: "nobody/nothing" }))).toEqual([
    400,
    "unknown_model",
  ]);
  expect((await house.get("/agents")).body).toMatchObject({ agents: [] });
  const { models, default: chosen } = (await house.get("/models?limit=5")).body as {
    models: object[];
    default: object;
  };
  expect(models.length).toBe(5);
  expect(chosen).toMatchObject({ model: "demo/surveyor" });
});

async function made(house: TestServer): Promise<`agent-${string}`> {
  const answer = await house.post("/agents", ORDER);
  expect(answer).toMatchObject({
    status: 201,
    body: { name: expect.stringMatching(/^Chips(?:-\d+)?$/), goal: ORDER.goal },
  });
  return (answer.body as { id: `agent-${string}` }).id;
}

async function asked(house: TestServer, id: string): Promise<TestResponse> {
  await house.until(id, ({ questions }) => "question-1" in questions.open);
  return house.get(`/agents/${id}/questions`);
}

/** The numbers of all events, page by page. */
async function allEvents(house: TestServer, id: string, limit: number): Promise<number[]> {
  const all: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const { body } = await house.get(`/agents/${id}/events?after=${after}&limit=${limit}`);
    const page = body as { events: { seq: number }[]; next_after: number | null };
    all.push(...page.events.map(({ seq }) => seq));
    after = page.next_after;
  }
  return all;
}

function refusal({ status, body }: TestResponse): [number, unknown] {
  return [status, (body as { error?: { code?: string } }).error?.code];
}

function standing(answer: TestResponse): unknown[] {
  const { status, archived } = answer.body as { status?: string; archived?: boolean };
  return answer.status === 200 ? [200, status, archived] : refusal(answer);
}
