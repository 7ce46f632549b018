import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agiraph } from "../../src/cli/testing/cli-process.ts";
import { Postgres, withoutPostgres } from "../../src/engine/testing/postgres.ts";
import { EventClient } from "../../src/server/testing/event-client.ts";
import { call, script } from "../../src/testing/index.ts";
import { startHost } from "../../src/testing/start-host.ts";
import { TOKEN } from "../../src/testing/start-server.ts";

describe.skipIf(withoutPostgres)(`hosts and draining ${withoutPostgres}`, () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });

  test("a drained host ends its turns, gives all it has to the others and takes nothing new, until that is undone", async () => {
    const shared = { postgres, schema: "drained" };
    const turnEnds = Promise.withResolvers<void>();
    const before = script(
      call("send_message", { to: "human", content: "I begin." }).until(turnEnds.promise),
      call("finish", { summary: "not here" }),
    );
    await using one = await startHost({ ...shared, name: "one", coordinator: before });
    await using two = await startHost({
      ...shared,
      name: "two",
      coordinator: script(call("finish", { summary: "there" })),
    });
    for (const host of [one, two]) await host.app.agents.takeUp(() => {});
    const { id } = (await one.post("/agents", { goal: "Say something" })).body as { id: string };
    await one.until(id, ({ roster }) => roster.coordinator !== undefined);
    const events = new EventClient(`${one.url.replace("http", "ws")}/agents/${id}/events?after=0`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(await two.post("/hosts/one/drain")).toEqual({ status: 200, body: { hosts: ["one"] } });
    await expect.poll(() => one.runtime.isDraining).toBe(true);
    // The turn is under way: it ends here, and the next one begins there.
    expect(one.runtime.atWork()).toHaveLength(1);
    turnEnds.resolve();
    expect((await events.closed).code).toBe(1012);
    const status = async () => (await two.get(`/agents/${id}`)).body;
    await expect.poll(status).toMatchObject({ status: "completed" });
    expect([before.played, one.runtime.atWork()]).toEqual([1, []]);
    const facts = (await one.get(`/agents/${id}/events?after=0&limit=500`)).body as { events: { type: string }[] };
    const types = facts.events.map(({ type }) => type);
    expect(types.filter((type) => type === "message.sent" || type === "agent.completed")).toEqual([
      "message.sent",
      "agent.completed",
    ]);
    const made = (await one.post("/agents", { goal: "Something new" })).body as { id: string };
    expect([one.runtime.opened(made.id as never), two.runtime.opened(made.id as never)?.log.id]).toEqual([
      undefined,
      made.id,
    ]);
    const env = { AGIRAPH_ENGINE: postgres.url() };
    const folder = one.runtime.store.root;
    const listed = await agiraph(["hosts", "--schema", "drained"], { folder, env });
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/one +drained +0 /) });
    expect(listed.stdout).toMatch(/two +there +\d/);
    const undone = await agiraph(["hosts", "drain", "one", "--undo", "--schema", "drained"], { folder, env });
    expect(undone).toMatchObject({ code: 0, stderr: expect.stringContaining("takes agents again") });
    await expect.poll(() => one.runtime.isDraining).toBe(false);
    const { hosts } = (await one.get("/hosts")).body as { hosts: object[] };
    expect(hosts).toMatchObject([{ name: "one", is_draining: false }, { name: "two" }]);
    expect(await one.post("/hosts/three/drain")).toMatchObject({ status: 404 });
  });
});
