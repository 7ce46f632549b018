import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Database } from "../../src/engine/database.ts";
import { engineAddress } from "../../src/engine/engine-address.ts";
import { importHome } from "../../src/engine/import-home.ts";
import { migrate } from "../../src/engine/migrations.ts";
import { Postgres, withoutPostgres } from "../../src/engine/testing/postgres.ts";
import { call, script, startTeam, temporaryHome } from "../../src/testing/index.ts";
import { startHost } from "../../src/testing/start-host.ts";

describe.skipIf(withoutPostgres)(`lists over all hosts ${withoutPostgres}`, () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });

  test("DIRECTORY-3, SHARED-AGENTS-2: what was just imported is listed at once, and read by a host in the background", async () => {
    await using folder = await temporaryHome();
    const finish = script(call("finish", { summary: "hello" }));
    await using team = await startTeam({ home: folder.path, goal: "Say hello", coordinator: finish });
    await team.outcome();
    const { id } = team.agent.log;
    await team.runtime.close();
    const database = new Database(engineAddress(postgres.url(), "imported"));
    await migrate(database);
    await importHome(database, folder.path, { clock: { now: Date.now }, loginFiles: [], onTree: () => {} });
    await using one = await startHost({ postgres, schema: "imported", name: "one" });
    const agents = async () => ((await one.get("/agents")).body as { agents: object[] }).agents;
    expect(await agents()).toMatchObject([{ id, goal: "Say hello", loading: true }]);
    await expect.poll(agents).toMatchObject([{ id, status: "completed", summary: "hello" }]);
    // It was given back, and every host knows now.
    const owner = () => database.query("select owner, is_wanted from trees where tree like 'agents/%'");
    await expect.poll(owner).toEqual([{ owner: null, is_wanted: false }]);
    await using two = await startHost({ postgres, schema: "imported", name: "two" });
    expect(((await two.get("/agents")).body as { agents: object[] }).agents).toMatchObject([
      { id, status: "completed" },
    ]);
    expect(await owner()).toEqual([{ owner: null, is_wanted: false }]);
    await database.close();
  });

  test("DIRECTORY-1: what a host notes of an agent that is another's by now changes nothing", async () => {
    const shared = { postgres, schema: "noted" };
    await using database = new Database(engineAddress(postgres.url(), "noted"));
    await using one = await startHost({
      ...shared,
      name: "one",
      coordinator: script(call("finish", { summary: "A" })),
    });
    await using two = await startHost({ ...shared, name: "two" });
    const { id } = (await one.post("/agents", { goal: "Say A" })).body as { id: string };
    await one.until(id, ({ agent }) => agent.status === "completed");
    const noted = () =>
      database.query("select summary->>'status' as status, summary->>'archived' as archived from trees");
    await expect.poll(noted).toEqual([{ status: "completed", archived: "false" }]);
    await database.query("update trees set owner = (select host from hosts where name = 'two'), epoch = epoch + 1");
    // It believes that it is still its own: its write is refused, and its note too.
    expect(await one.delete(`/agents/${id}`)).toMatchObject({ status: 503 });
    await one.runtime.hosting?.directory.all();
    expect(await noted()).toEqual([{ status: "completed", archived: "false" }]);
    expect(two.runtime.opened(id as never)).toBeUndefined();
  });

  test("what comes by a channel is given to the host that has the agent, with its actor", async () => {
    const shared = { postgres, schema: "channels" };
    const coordinator = script(
      call("ask_human", { question: "Which database?" }),
      call("finish", { summary: "A" }).after("PostgreSQL"),
    );
    await using one = await startHost({ ...shared, name: "one", coordinator });
    await using two = await startHost({ ...shared, name: "two" });
    const { id } = (await one.post("/agents", { goal: "Choose" })).body as { id: string };
    await one.until(id, ({ agent }) => agent.status === "waiting_for_human");
    const actor = { kind: "human", via: "channel:mail" } as const;
    const nobody = two.runtime.execute({ do: "assign", id, node_id: "node-9", worker: "Alice" }, actor);
    await expect(nobody).rejects.toMatchObject({ name: "HumanRefusal" });
    await two.runtime.execute({ do: "respond", id, response: "PostgreSQL" }, actor);
    await one.until(id, ({ agent }) => agent.status === "completed");
    const { events } = (await two.get(`/agents/${id}/events?after=0&limit=200`)).body as {
      events: { type: string; actor?: object }[];
    };
    expect(events.find(({ type }) => type === "human.response")?.actor).toEqual(actor);
  });
});
