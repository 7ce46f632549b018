import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Postgres, withoutPostgres } from "../../src/engine/testing/postgres.ts";
import { EventClient } from "../../src/server/testing/event-client.ts";
import { call, hang, script } from "../../src/testing/index.ts";
import { startHost } from "../../src/testing/start-host.ts";
import { type TestServer, TOKEN } from "../../src/testing/start-server.ts";

/** Several hosts that work from one engine. */
describe.skipIf(withoutPostgres)(`hosts of an engine ${withoutPostgres}`, () => {
  let postgres: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });
  const schema = () => `hosts_${++schemas}`;

  test("what is made on one host is listed, read, followed and answered on another", async () => {
    const shared = { postgres, schema: schema() };
    const coordinator = script(
      call("ask_human", { question: "Which database?" }),
      call("finish", { summary: "PostgreSQL it is." }).after("PostgreSQL"),
    );
    await using one = await startHost({ ...shared, name: "one", coordinator });
    await using two = await startHost({ ...shared, name: "two" });
    const { id } = (await one.post("/agents", { goal: "Choose a database" })).body as { id: string };
    await one.until(id, ({ agent }) => agent.status === "waiting_for_human");
    await expect.poll(() => listed(two)).toEqual([[id, "waiting_for_human", 1]]);
    expect(await two.get(`/agents/${id}/questions`)).toEqual(await one.get(`/agents/${id}/questions`));
    await expect
      .poll(async () => (await two.get("/inbox")).body)
      .toMatchObject({ items: [{ text: "Which database?" }] });
    const events = new EventClient(`${two.url.replace("http", "ws")}/agents/${id}/events?after=0`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    await events.until((frames) => frames.some(({ type }) => type === "human.question"));
    expect(await two.post(`/agents/${id}/respond`, { response: "PostgreSQL" })).toMatchObject({ status: 200 });
    await events.until((frames) => frames.some(({ type }) => type === "agent.completed"));
    const facts = (await one.get(`/agents/${id}/events?after=0&limit=500`)).body as { events: { seq: number }[] };
    expect(events.seqs).toEqual(facts.events.map(({ seq }) => seq).slice(0, events.seqs.length));
    const answered = events.frames.find(({ type }) => type === "human.response");
    expect(answered?.actor).toMatchObject({ kind: "human", via: "web" });
    coordinator.assertDone();
    events.socket.close();
    // It is still the one host's: the other has only looked.
    expect(two.runtime.opened(id as never)).toBeUndefined();
  });

  test("what is refused is refused in the same words, and a stranger is never carried", async () => {
    const shared = { postgres, schema: schema() };
    await using one = await startHost({ ...shared, name: "one", coordinator: script(hang()) });
    await using two = await startHost({ ...shared, name: "two" });
    const { id } = (await one.post("/agents", { goal: "Wait" })).body as { id: string };
    for (const [path, body] of [
      [`/agents/${id}/send`, { message: "" }],
      [`/agents/${id}/board/node-9/assign`, { worker: "Alice" }],
    ] as const)
      expect(await two.post(path, body)).toEqual(await one.post(path, body));
    expect(await two.get("/agents/agent-zzzzzzzz")).toMatchObject({ status: 404 });
    const stranger = await fetch(`${two.url}/agents/${id}`, { headers: { "x-agiraph-carried": "x".repeat(43) } });
    expect(stranger.status).toBe(401);
  });
});

async function listed(host: TestServer): Promise<unknown[]> {
  const { agents } = (await host.get("/agents")).body as {
    agents: { id: string; status: string; open_questions: number }[];
  };
  return agents.map(({ id, status, open_questions }) => [id, status, open_questions]);
}
