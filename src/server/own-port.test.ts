import { get } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { ApiClient } from "../client/client.ts";
import { call, script, startTeam } from "../testing/index.ts";
import { TOKEN } from "../testing/start-server.ts";
import { OwnPort } from "./own-port.ts";

test("a process that works answers the API on loopback alone, to those who have the token and call it by its name", async () => {
  await using team = await startTeam({ goal: "Think", coordinator: script(call("finish", { summary: "42" })) });
  const settings = { home: team.runtime.store.root, env: {}, config: { server: { names: ["agents.example.org"] } } };
  const port = await OwnPort.open({ runtime: team.runtime, settings, token: TOKEN });
  onTestFinished(() => port.close());
  const { id } = team.agent.log;
  const statuses = await Promise.all([
    statusOf(`${port.url}/agents`, {}),
    statusOf(`${port.url}/agents`, { authorization: "Bearer wrong" }),
    statusOf(`${port.url}/agents`, { authorization: `Bearer ${TOKEN}`, host: "agents.example.org" }),
    statusOf(`${port.url}/agents`, { authorization: `Bearer ${TOKEN}`, origin: "http://evil.example" }),
    statusOf(`${port.url}/agents`, { authorization: `Bearer ${TOKEN}` }),
  ]);
  expect({ host: new URL(port.url).hostname, statuses }).toEqual({
    host: "127.0.0.1",
    statuses: [401, 401, 403, 403, 200],
  });
  expect((await new ApiClient({ url: port.url, token: TOKEN }).agent(id)).name).toBe(team.agent.now.agent.created.name);
  await port.close();
  await expect(new ApiClient({ url: port.url, token: TOKEN }).agents()).rejects.toThrow("ECONNREFUSED");
});

function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  get(url, { headers, agent: false }, (answer) => {
    answer.resume();
    resolve(answer.statusCode);
  }).once("error", reject);
  return promise;
}
