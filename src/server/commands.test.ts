import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ApiClient } from "../client/client.ts";
import { giveCommand } from "../client/give-command.ts";
import { ApiError, type Transport } from "../client/transport.ts";
import {
  COMMAND_ROUTES,
  type CommandName,
  type CommandOf,
  type CommandResult,
  commandNames,
  commands,
} from "../protocol/commands.ts";
import type { Actor, AgentId, Fact } from "../protocol/index.ts";
import { call, fail, hang, say, script } from "../testing/index.ts";
import { startServer, type TestServer, TOKEN } from "../testing/start-server.ts";

type Give = <C extends CommandName>(command: CommandOf<C>) => Promise<CommandResult<C>>;

const ACTOR: Actor = { kind: "human", via: "terminal" };

/** The ways by which every command may come. */
const WAYS: Record<string, (server: TestServer) => Give> = {
  runtime:
    ({ runtime }) =>
    (command) =>
      runtime.execute(command, ACTOR),
  client: ({ url }) => {
    const client = new ApiClient({ url, token: TOKEN, via: "terminal" });
    return (command) => client.give(command);
  },
};

test("every command has the same outcome whichever way it comes, and what it leads to bears its actor", async () => {
  const [byRuntime, byClient] = await Promise.all(Object.values(WAYS).map((way) => everyCommand(way)));
  expect(byClient).toEqual(byRuntime);
  // Those to meshes: `test/mesh/commands.test.ts`. Of agents that write: `test/scenarios/repository-commands.test.ts`.
  const toAgents = commandNames.filter(
    (name) => !COMMAND_ROUTES[name].includes(" /meshes") && commands[name].tag !== "repository",
  );
  expect(Object.keys(byRuntime?.outcomes ?? {}).sort()).toEqual(toAgents.sort());
  expect(byRuntime?.recorded).toEqual([
    ["create", "agent.created", "agent.started", "run.started", "worker.spawned", "worker.busy"],
    ["seen", "message.received"],
    ["nudge", "human.nudge"],
    ["respond", "human.response"],
    ["send", "message.sent"],
    ["update_node", "node.updated"],
    ["cancel", "node.cancelled"],
    ["assign", "worker.spawned", "node.reopened", "worker.idle"],
    ["publish", "human.response"],
    ["create_trigger", "trigger.created"],
    ["pause_trigger", "trigger.paused"],
    ["resume_trigger", "trigger.resumed"],
    ["cancel_trigger", "trigger.cancelled"],
    ["pause", "agent.paused"],
    ["resume", "agent.resumed", "agent.started", "worker.busy", "worker.busy"],
    ["stop", "agent.stopped"],
    ["archive", "agent.archived"],
    ["restore", "agent.restored"],
  ]);
  expect(byRuntime?.byThemselves).toEqual([]);
});

async function everyCommand(way: (server: TestServer) => Give) {
  await using server = await startServer({
    coordinator: script(
      call("spawn_worker", { name: "Ann" }),
      call("create_work_node", { task: "Sign it.", deliverables: ["signed.md"], worker: "Ann" }),
      call("create_work_node", { task: "Dust it.", worker: "Ann" }),
      call("spawn_worker", { name: "Bob" }),
      call("create_work_node", { task: "Guard it.", worker: "Bob" }),
      call("send_message", { to: "human", content: "I begin." }),
      call("ask_human", { question: "Which?" }),
      say("I wait."),
      call("finish", { summary: "Never." }).after("the end of time"),
    ),
    workers: { Ann: script(hang()), Bob: script(hang(), hang()) },
  });
  const give = way(server);
  const outcomes: Record<string, unknown> = {};
  const recorded: string[][] = [];
  let id = "";
  let seen = 0;
  const log = async () => (await server.runtime.store.open(id as AgentId)).read({ after: seen, limit: 10_000 });
  const now = async () => {
    for (const fact of await log()) seen = Math.max(seen, fact.seq);
  };
  /** Gives a command and notes what it was answered with, and what of it is on record. */
  const asked = async <C extends CommandName>(command: CommandOf<C>): Promise<CommandResult<C>> => {
    const name = command.do as C;
    if (id !== "") await now();
    const result = await give(command).catch((error: Error) => ({ status: "refused", detail: error.message }) as never);
    const { status, detail } = result as { status: string; detail?: string };
    outcomes[name] = [status, detail?.replaceAll(server.runtime.store.root, "HOME").replaceAll(id, "ID")];
    if (name === "create") id = (result as { id: string }).id;
    const facts = (await log()).filter((fact) => fact.actor);
    if (facts.length > 0) recorded.push([name, ...facts.map(({ type }) => type)]);
    for (const { actor } of facts) expect(actor).toEqual(ACTOR);
    return result;
  };
  const until = server.until.bind(server);

  await asked({ do: "create", goal: "Keep house", worker_model: "scripted/worker" });
  const agent = await until(id, ({ questions, board }) => "question-1" in questions.open && "node-2" in board.nodes);
  await until(id, ({ board }) => board.nodes["node-1"]?.status === "running");
  await asked({ do: "seen", id });
  await asked({ do: "set_models", id, model: agent.now.agent.created.model });
  await asked({ do: "nudge", id, message: "Faster." });
  await asked({ do: "respond", id, response: "The blue one.", question_id: "question-1" });
  await asked({ do: "send", id, message: "Mind the cat." });
  await asked({ do: "revoke_permission", id, key: "none" });
  await asked({ do: "update_node", id, node_id: "node-2", task: "Dust it all." });
  await asked({ do: "cancel", id, node_id: "node-2", reason: "Clean already." });
  await asked({ do: "assign", id, node_id: "node-1", worker: "human" });
  await until(id, ({ questions }) => Object.keys(questions.open).length === 1);
  await writeFile(join(agent.log.dir, "runs/run-1/nodes/node-1/scratch/signed.md"), "me\n");
  await asked({ do: "publish", id, node_id: "node-1", summary: "Signed." });
  await asked({ do: "create_trigger", id, type: "at_time", config: { at: "2099-01-01T09:00:00" }, action: "Look" });
  for (const deed of ["pause_trigger", "resume_trigger", "cancel_trigger"] as const)
    await asked({ do: deed, id, trigger_id: "trigger-1" });
  await asked({ do: "pause", id });
  await asked({ do: "resume", id });
  await asked({ do: "stop", id });
  await asked({ do: "archive", id });
  await asked({ do: "restore", id });
  seen = 0;
  const byThemselves = (await log()).filter(isOfItsOwn).map(({ type }) => type);
  return { outcomes, recorded, byThemselves };
}

/** What nobody commands. */
function isOfItsOwn({ type, actor }: Fact): boolean {
  return actor !== undefined && /^(model|tool|channel|memory|process)\./.test(type);
}

/** As the page does it: the same routes, with the cookie of its browser and its own origin. */
const PAGE = async (server: TestServer): Promise<Give> => {
  const { url } = (await server.post("/login")).body as { url: string };
  const entered = await fetch(url, { redirect: "manual" });
  const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
  return (command) =>
    giveCommand(
      {
        url: "",
        async ask(method, path, { body } = {}) {
          const headers = { cookie, origin: server.url, "content-type": "application/json" };
          const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) });
          const said = (await response.json()) as { error?: { code: string; message: string } };
          if (said.error) throw new ApiError(response.status, said.error.code, said.error.message);
          return said;
        },
      } as Transport,
      command,
    );
};

const NODE_1 = call("create_work_node", { task: "Sign it.", worker: "Ann" });
const HIRE = call("spawn_worker", { name: "Ann" });
const YOURS = (node: string, run = "run-1") =>
  `${node} is yours. Put the files into DIR/runs/${run}/nodes/${node}/scratch, then: agiraph publish g ${node}`;

const GIVEN_UP = call("give_up", { reason: "No pen." });

test.each([
  ["works", { steps: [say("I wait.")], ann: hang() }, undefined, YOURS("node-1")],
  ["was paused", { steps: [say("I wait.")], ann: hang() }, "pause", YOURS("node-1")],
  ["was stopped", { steps: [say("I wait.")], ann: hang() }, "stop", YOURS("node-1")],
  [
    "failed",
    { steps: [say("I wait."), fail("auth").after("node-1 failed")], ann: GIVEN_UP },
    undefined,
    YOURS("node-1"),
  ],
  [
    "has finished",
    { steps: [say("I wait."), call("finish", { summary: "s" }).after("node-1 failed")], ann: GIVEN_UP },
    undefined,
    `node-1 belongs to a run that is over; its work is now node-2. ${YOURS("node-2", "run-2")}`,
  ],
  [
    "is archived",
    { steps: [say("I wait.")], ann: hang() },
    "archive",
    "refused: g is archived. Restore it first: agiraph rm g --undo",
  ],
] as const)(
  "a node of an agent that %s is given to the human, by every way that there is",
  async (_, minds, first, answer) => {
    for (const way of [WAYS.runtime, WAYS.client, PAGE]) {
      await using server = await startServer({
        coordinator: script(HIRE, NODE_1, ...minds.steps),
        workers: { Ann: script(minds.ann) },
      });
      const give = (await way?.(server)) as Give;
      const { id } = await give({ do: "create", goal: "g", name: "g" });
      await server.until(id, ({ board, agent }) => {
        const status = board.nodes["node-1"]?.status;
        return minds.ann === GIVEN_UP ? agent.outcome !== null : status === "running";
      });
      if (first) await give({ do: first, id });
      const said = await give({ do: "assign", id, node_id: "node-1", worker: "human" }).then(
        ({ detail }) => detail?.replace(/(?<=into ).*(?=\/runs\/)/, "DIR"),
        (error: Error) => `refused: ${error.message}`,
      );
      expect(said).toBe(answer);
      if (first === "archive") continue;
      await server.until(id, ({ questions }) => Object.keys(questions.open).length === 1);
      const { items } = (await server.get("/inbox")).body as { items: { kind: string; text: string }[] };
      expect(items.filter(({ kind }) => kind === "question")).toEqual([
        expect.objectContaining({ text: expect.stringMatching(/^node-[12] is yours: Sign it\./) }),
      ]);
    }
  },
);

test("a command with a wrong field is refused for the same reason whichever way it comes, and nothing changes", async () => {
  const wrong = [
    { do: "send", message: "  " },
    { do: "nudge", message: "x".repeat(32_001) },
    { do: "send", message: "Hi.", too: "Ann" },
    { do: "assign", node_id: "node-1", worker: 7 },
    { do: "pause_trigger", trigger_id: "x".repeat(61) },
  ];
  const refusals = Object.values(WAYS).map(async (way) => {
    await using server = await startServer({ coordinator: script(call("ask_human", { question: "Which?" })) });
    const give = way(server);
    const { id } = await give({ do: "create", goal: "Wait" });
    const { log } = await server.until(id, ({ questions }) => "question-1" in questions.open);
    const { seq } = log;
    const why = [];
    for (const command of wrong)
      why.push(
        await give({ ...command, id } as never).then(
          () => "accepted",
          (error: Error) => error.message.replace(/^(?:params\.)?\w+: /, ""),
        ),
      );
    expect((await log.read({ after: seq, limit: 1000 })).filter(({ actor }) => actor)).toEqual([]);
    return why;
  });
  const [byRuntime, byClient] = await Promise.all(refusals);
  expect(byRuntime).toEqual(byClient);
  expect(byRuntime?.slice(0, 3)).toEqual([
    "it must not be empty",
    "at most 32000 characters",
    'there is no field "too". Did you mean "to"? Choose from: message, to',
  ]);
});

test("an unknown command names the nearest, in the runtime and over HTTP", async () => {
  await using server = await startServer({ coordinator: script() });
  const unknown = { do: "nudg", id: "agent-abcd" } as unknown as CommandOf<"nudge">;
  await expect(server.runtime.execute(unknown, ACTOR)).rejects.toThrow(
    'There is no command "nudg". Did you mean "nudge"?',
  );
  expect(await server.post("/agents/agent-abcd/nugde", { message: "x" })).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining('Did you mean "POST /agents/{id}/nudge"?') } },
  });
  expect(await server.post("/meshes/agent-abcd/stpo")).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining('Did you mean "POST /meshes/{id}/stop"?') } },
  });
});

test("who speaks over HTTP says by which way; a way that there is not is refused", async () => {
  await using server = await startServer({ coordinator: script(say("Hello."), say("I wait.")) });
  const { id } = await new ApiClient({ url: server.url, token: TOKEN }).give({ do: "create", goal: "Wait" });
  const facts = async () => (await server.get(`/agents/${id}/events?after=0`)).body as { events: Fact[] };
  expect((await facts()).events[0]).toMatchObject({ type: "agent.created", actor: { kind: "human", via: "web" } });
  const headers = { "x-agiraph-via": "telepathy" };
  expect((await server.fetch(`/agents/${id}/stop`, { method: "POST", headers })).status).toBe(400);
});

test("a server that does not know a command yet is said to be of an older version", async () => {
  const old = (async () =>
    Response.json(
      { error: { code: "not_found", message: "There is nothing here. GET /openapi.json says what there is." } },
      { status: 404 },
    )) as typeof fetch;
  const client = new ApiClient({ url: "http://127.0.0.1:1", token: TOKEN, fetch: old });
  await expect(client.give({ do: "pause_trigger", id: "agent-abcd", trigger_id: "trigger-1" })).rejects.toMatchObject({
    code: "too_old",
    message: expect.stringContaining('does not know "pause_trigger"'),
  });
});
