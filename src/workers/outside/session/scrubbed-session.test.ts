import { expect, test } from "vitest";
import { createScrubber } from "../../../boundary/scrubber.ts";
import { adapterWithoutSecrets } from "./scrubbed-session.ts";
import type { OutsideEvent, SessionSetup } from "./session.ts";

const KEY = "canary-9f3b7c1d";

test("what a program says, does and complains of holds no secret, also one in pieces; ids stay", async () => {
  const said: OutsideEvent[] = [
    { kind: "begun", session_id: KEY },
    { kind: "delta", of: "text", text: "It is canary-9f" },
    { kind: "delta", of: "text", text: "3b7c1d, cana" },
    { kind: "delta", of: "reasoning", text: "hm" },
    { kind: "said", text: `It is ${KEY}` },
    { kind: "called", call_id: "c1", tool: "bash", args: { command: `curl -H ${KEY}` } },
    { kind: "answered", call_id: "c1", ok: true, content: KEY },
    { kind: "asked_permission", id: KEY, tool: "bash", args: [KEY], title: KEY },
    { kind: "noted", text: `stderr: ${KEY}` },
    { kind: "exited", code: 0, signal: null, exceeded: null },
  ];
  const adapter = adapterWithoutSecrets(async () => sessionOf(said), createScrubber([{ name: "KEY", value: KEY }]));
  const session = await adapter({} as SessionSetup);
  const heard: OutsideEvent[] = [];
  for await (const event of session.events) heard.push(event);
  const R = "[redacted: KEY]";
  expect(heard).toEqual([
    { kind: "begun", session_id: KEY },
    { kind: "delta", of: "text", text: "It is " },
    { kind: "delta", of: "text", text: `${R}, ` },
    { kind: "delta", of: "text", text: "cana" },
    { kind: "delta", of: "reasoning", text: "hm" },
    { kind: "said", text: `It is ${R}` },
    { kind: "called", call_id: "c1", tool: "bash", args: { command: `curl -H ${R}` } },
    { kind: "answered", call_id: "c1", ok: true, content: R },
    { kind: "asked_permission", id: KEY, tool: "bash", args: [R], title: R },
    { kind: "noted", text: `stderr: ${R}` },
    { kind: "exited", code: 0, signal: null, exceeded: null },
  ]);
});

function sessionOf(said: readonly OutsideEvent[]) {
  const nothing = async () => {};
  async function* events() {
    yield* said;
  }
  return { events: events(), say: nothing, decide: nothing, interrupt: nothing, close: nothing };
}
