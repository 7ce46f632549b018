import { expect, test } from "vitest";
import { call, script } from "../testing/index.ts";
import { startServer } from "../testing/start-server.ts";

test("an agent is made, watched and asked over HTTP", async () => {
  await using house = await startServer({ coordinator: script(call("finish", { summary: "hello" })) });
  const made = await house.post("/agents", { goal: "Say hello", name: "Greeter" });
  expect(made).toEqual({
    status: 201,
    body: expect.objectContaining({ name: "Greeter", goal: "Say hello", mode: "finite" }),
  });
});
