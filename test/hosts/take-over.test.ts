import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agiraph } from "../../src/cli/testing/cli-process.ts";
import { Database } from "../../src/engine/database.ts";
import { engineAddress } from "../../src/engine/engine-address.ts";
import { Postgres, withoutPostgres } from "../../src/engine/testing/postgres.ts";
import type { Fact } from "../../src/protocol/index.ts";
import { call, script, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { startHost } from "../../src/testing/start-host.ts";
import { HostProcess } from "./host-process.ts";

describe.skipIf(withoutPostgres)(`a host that ends ${withoutPostgres}`, () => {
  let postgres: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });
  const newSchema = () => `ends_${++schemas}`;

  async function factsIn(schema: string): Promise<Fact[]> {
    await using database = new Database(engineAddress(postgres.url(), schema));
    const rows = await database.query<{ bytes: Buffer }>(
      "select bytes from chunks where path = 'events.jsonl' order by at",
    );
    const lines = Buffer.concat(rows.map(({ bytes }) => bytes)).toString();
    return lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  test("killed, its agents go on at another host with what is recorded; an answer meanwhile is given once", async () => {
    await using provider = await startProviderServer({
      turns: [
        { calls: [{ name: "ask_human", args: { question: "Which database?" } }] },
        { calls: [{ name: "finish", args: { summary: "PostgreSQL it is." } }] },
      ],
    });
    await using folder = await temporaryHome();
    const schema = newSchema();
    const shared = { folder: folder.path, engine: postgres.url(), schema, env: provider.env };
    await using one = await HostProcess.start({ ...shared, name: "one" });
    await using two = await HostProcess.start({ ...shared, name: "two" });
    const { id, name } = (await one.ask("POST", "/agents", { goal: "Choose a database", model: "openai/gpt-5" })) as {
      id: string;
      name: string;
    };
    await expect.poll(() => two.status(id)).toBe("waiting_for_human");
    // As a terminal beside the other host sees it.
    const env = { AGIRAPH_HOME: two.home };
    const listed = await agiraph(["ls"], { folder: folder.path, env });
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(`${name}  ${id}  needs you`) });
    const shown = await agiraph(["show", name], { folder: folder.path, env });
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("Which database?") });

    one.cli.signal("SIGKILL");
    const answered = await agiraph(["answer", name, "PostgreSQL"], { folder: folder.path, env });
    expect(answered).toMatchObject({ code: 0 });
    await expect.poll(() => two.status(id)).toBe("completed");
    const facts = await factsIn(schema);
    expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, at) => at + 1));
    const types = facts.map(({ type }) => type);
    expect(types.filter((type) => type === "human.response" || type === "agent.completed")).toEqual([
      "human.response",
      "agent.completed",
    ]);
    provider.assertDone();
  });

  test("frozen, it is taken over; when it wakes it records nothing, and joins again as a new host", async () => {
    await using provider = await startProviderServer({
      turns: [{ hold: "thinking", calls: [{ name: "finish", args: { summary: "Done once." } }] }],
    });
    await using folder = await temporaryHome();
    const schema = newSchema();
    const shared = { folder: folder.path, engine: postgres.url(), schema, env: provider.env };
    await using one = await HostProcess.start({ ...shared, name: "one" });
    await using two = await HostProcess.start({ ...shared, name: "two" });
    const { id } = (await one.ask("POST", "/agents", { goal: "Think", model: "openai/gpt-5" })) as { id: string };
    await provider.reached("thinking");
    one.cli.signal("SIGSTOP");
    // The other host has taken over, and asks the model again.
    await provider.reached("thinking", 2);
    provider.release("thinking");
    await expect.poll(() => two.status(id)).toBe("completed");
    const before = await factsIn(schema);
    one.cli.signal("SIGCONT");
    await one.cli.saw("everything was stopped here");
    // By the same port, as before.
    await expect.poll(() => one.status(id).catch(() => undefined)).toBe("completed");
    expect(await factsIn(schema)).toEqual(before);
    expect(before.filter(({ type }) => type === "agent.completed")).toHaveLength(1);
    expect(one.cli.isRunning).toBe(true);
  });

  test("closed in order, its agents go on elsewhere at once", async () => {
    const shared = { postgres, schema: newSchema() };
    const coordinator = script(
      call("ask_human", { question: "Which database?" }),
      call("finish", { summary: "A" }).after("PostgreSQL"),
    );
    const one = await startHost({ ...shared, name: "one", coordinator });
    const asking = (await one.post("/agents", { goal: "Choose a database" })).body as { id: string };
    await one.until(asking.id, ({ agent }) => agent.status === "waiting_for_human");
    await one[Symbol.asyncDispose]();
    await using two = await startHost({
      ...shared,
      name: "two",
      coordinator: script(call("finish", { summary: "A" })),
    });
    await two.app.agents.takeUp(() => {});
    await expect.poll(() => two.runtime.opened(asking.id as never)?.isWorking).toBe(true);
    expect(await two.post(`/agents/${asking.id}/respond`, { response: "PostgreSQL" })).toMatchObject({ status: 200 });
    await two.until(asking.id, ({ agent }) => agent.status === "completed");
  });

  test("what falls due in an agent at rest happens once, on a host that is there", async () => {
    const schema = newSchema();
    const shared = { postgres, schema };
    const finish = (summary: string) => script(call("finish", { summary }));
    const one = await startHost({ ...shared, name: "one", coordinator: finish("first") });
    const { id } = (await one.post("/agents", { goal: "Look around" })).body as { id: string };
    await one.until(id, ({ agent }) => agent.status === "completed");
    const order = { type: "delayed", config: { delay_seconds: 3 }, action: "Look again" };
    expect(await one.post(`/agents/${id}/triggers`, order)).toMatchObject({ status: 201 });
    await one[Symbol.asyncDispose]();
    // Nobody has it open: its next instant is known to all hosts.
    await using two = await startHost({ ...shared, name: "two", coordinator: finish("second") });
    await using three = await startHost({ ...shared, name: "three", coordinator: finish("second") });
    for (const host of [two, three]) await host.app.agents.takeUp(() => {});
    const ends = async () => (await factsIn(schema)).filter(({ type }) => type === "agent.completed").length;
    await expect.poll(ends).toBe(2);
    const types = (await factsIn(schema)).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("trigger."))).toEqual([
      "trigger.created",
      "trigger.fired",
      "trigger.done",
    ]);
  });
});
