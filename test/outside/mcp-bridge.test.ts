import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { openDoor } from "./door.ts";

const BRIDGE = join(import.meta.dirname, "../../src/workers/outside/acp/mcp-bridge.ts");

test("a program that knows MCP on standard input and output only reaches our tools by the bridge", async () => {
  await using door = await openDoor();
  expect(
    await through(door, [
      request(1, "initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      }),
      { jsonrpc: "2.0", method: "notifications/initialized" },
      request(2, "tools/list", {}),
      request(3, "tools/call", { name: "publish", arguments: { summary: "done" } }),
      request(4, "no/such", {}),
    ]),
  ).toMatchObject([
    { id: 1, result: { protocolVersion: "2025-06-18", serverInfo: { name: "agiraph" } } },
    { id: 2, result: { tools: [{ name: "publish" }] } },
    { id: 3, result: { content: [{ type: "text", text: "Published." }] } },
    { id: 4, error: { message: "no/such" } },
  ]);
  expect(door.calls).toEqual([{ summary: "done" }]);
});

test("who asks at a closed door, or with the wrong token, is told so", async () => {
  await using door = await openDoor();
  const initialize = request(1, "initialize", {});
  expect(await through({ ...door, token: "another's" }, [initialize])).toMatchObject([
    { id: 1, error: { message: "The server answered 401: " } },
  ]);
  expect(await through({ url: "http://127.0.0.1:9/", token: door.token }, [initialize])).toMatchObject([
    { id: 1, error: { message: expect.stringContaining("cannot be reached") } },
  ]);
});

function request(id: number, method: string, params: object) {
  return { jsonrpc: "2.0", id, method, params };
}

/** Sends these through the bridge, and what comes back by the time it has ended, in the order of the ids. */
async function through({ url, token }: { url: string; token: string }, messages: object[]): Promise<{ id: number }[]> {
  const env = { AGIRAPH_DOOR_URL: url, AGIRAPH_DOOR_TOKEN: token };
  const bridge = spawn(process.execPath, [BRIDGE], { env, stdio: ["pipe", "pipe", "inherit"] });
  const answers: { id: number }[] = [];
  createInterface({ input: bridge.stdout }).on("line", (line) => answers.push(JSON.parse(line)));
  bridge.stdin.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  await once(bridge, "close");
  return answers.sort((a, b) => a.id - b.id);
}
