import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryHome } from "../../testing/index.ts";
import { askControl, type ControlRequest, listenForControl } from "./control.ts";
import { controlPath } from "./control-path.ts";
import { HumanRefusal, LONGEST_WORDS } from "./human-refusal.ts";

test("what one process asks the other does, and answers; what it cannot do it says", async () => {
  const path = await socketPath();
  await listening(path, async ({ agent }) => {
    if (agent !== "agent-a") throw new Error(`${agent} is not at work in this process.`);
    return "agent-a is stopped.";
  });
  expect([
    await askControl(path, { do: "stop", agent: "agent-a" }),
    await askControl(path, { do: "stop", agent: "agent-b" }),
    await askControl(path, { do: "dance", agent: "agent-a" } as unknown as ControlRequest),
  ]).toEqual([
    { ok: true, message: "agent-a is stopped." },
    { ok: false, message: "agent-b is not at work in this process." },
    { ok: false, message: expect.stringContaining("stop") },
  ]);
});

test("nobody but the owner may write to the socket, whatever the umask", async () => {
  const path = await socketPath();
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  await listening(path, async () => "");
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe("600");
});

test("what a person says goes through as it is checked: no stray fields, nothing empty, nothing endless", async () => {
  const path = await socketPath();
  await listening(path, async (request) => {
    if (request.do === "respond") throw new HumanRefusal("conflict", "There is no open question.");
    return JSON.stringify(request);
  });
  const ask = (request: object) => askControl(path, request as ControlRequest);
  const agent = "agent-a";
  expect([
    await ask({ do: "send", agent, text: " Mind the cat. ", to: "*" }),
    await ask({ do: "nudge", agent, text: "Faster." }),
    await ask({ do: "respond", agent, text: "blue", question_id: "question-1" }),
    await ask({ do: "send", agent, text: "  " }),
    await ask({ do: "nudge", agent, text: "x".repeat(LONGEST_WORDS + 1) }),
    await ask({ do: "stop", agent, text: "now" }),
    await ask({ do: "schedule", agent, order: { type: "on_idle", config: {}, action: "x", timezone: "UTC" } }),
  ]).toEqual([
    { ok: true, message: JSON.stringify({ do: "send", agent, text: "Mind the cat.", to: "*" }) },
    { ok: true, message: JSON.stringify({ do: "nudge", agent, text: "Faster." }) },
    { ok: false, message: "There is no open question.", code: "conflict" },
    { ok: false, message: expect.stringContaining("at text") },
    { ok: false, message: expect.stringContaining("at text") },
    { ok: false, message: expect.stringContaining('"text"') },
    { ok: false, message: expect.stringContaining('there is no field "timezone". Did you mean "time_zone"?') },
  ]);
});

test("where nobody listens, or who listens hangs up, there is no answer", async () => {
  const path = await socketPath();
  expect(await askControl(path, { do: "stop", agent: "agent-a" })).toBe(undefined);
  const rude = createServer((socket) => socket.destroy());
  const { promise, resolve } = Promise.withResolvers<void>();
  rude.listen(path, resolve);
  await promise;
  onTestFinished(() => void rude.close());
  expect(await askControl(path, { do: "stop", agent: "agent-a" })).toBe(undefined);
});

test("what a dead process left in the place of the socket is no obstacle", async () => {
  const path = await socketPath();
  await writeFile(path, "");
  await listening(path, async () => "yes");
  expect(await askControl(path, { do: "stop", agent: "agent-a" })).toEqual({ ok: true, message: "yes" });
});

test("the socket is in the home, however deep the home lies", { skip: process.platform !== "linux" }, async () => {
  const home = await temporaryHome();
  onTestFinished(() => home.remove());
  const deep = join(home.path, "x".repeat(120));
  await mkdir(deep);
  await listening(controlPath(deep), async () => "yes");
  expect(controlPath("/home/me/.agiraph")).toBe("/home/me/.agiraph/control.sock");
  expect([await readdir(deep), controlPath(deep).length < 100]).toEqual([["control.sock"], true]);
  expect(await askControl(controlPath(deep), { do: "stop", agent: "agent-a" })).toEqual({ ok: true, message: "yes" });
});

async function socketPath(): Promise<string> {
  const home = await temporaryHome();
  onTestFinished(() => home.remove());
  return join(home.path, "control.sock");
}

async function listening(path: string, answer: (request: ControlRequest) => Promise<string>): Promise<void> {
  const server = await listenForControl(path, answer);
  onTestFinished(() => void server.close());
}
