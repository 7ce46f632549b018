import { expect, test } from "vitest";
import { manualClock } from "../../../testing/manual-clock.ts";
import { temporaryHome } from "../../../testing/temporary-home.ts";
import type { Unread } from "../session/session.ts";
import { fakeProgram } from "../testing/fake-program.ts";
import { claudeCodeAdapter } from "./claude-code.ts";

/** A Claude Code that has read its first words and decides on a call, when something is said to it. */
async function spokenTo(act: (play: Play) => Promise<void>): Promise<void> {
  await using home = await temporaryHome();
  const clock = manualClock();
  const { running, exit } = fakeProgram();
  const profile = { kind: "claude_code" as const, command: ["claude"] as [string] };
  const setup = { profile, system: "", words: "Begin.", resume: null, model: null, assigned: 0, cwd: home.path };
  const session = await claudeCodeAdapter(clock)({ ...setup, home: home.path, start: async () => running });
  const gone = (async () => {
    for await (const _ of session.events);
  })();
  const write = (line: object) => running.stdout.push(`${JSON.stringify(line)}\n`);
  const state = (uuid: string, word: string) =>
    write({ type: "command_lifecycle", command_uuid: uuid, state: word, session_id: "s-1" });
  const sent = () => JSON.parse(String(running.stdin.read()).trim().split("\n").at(-1) ?? "").uuid as string;
  const begun = sent();
  for (const word of ["queued", "started"]) state(begun, word);
  await session.say("Paint it red.");
  const uuid = sent();
  let told: Unread | null | undefined;
  const call = session.takeUnread?.("publish").then((unread) => {
    told = unread;
  });
  await clock.sleeping();
  await act({ advance: (ms) => clock.advance(ms), state: (word) => state(uuid, word), told: () => told });
  await call;
  expect([told, await session.takeUnread?.("publish")]).toEqual([{ words: [] }, null]);
  exit();
  await gone;
}

interface Play {
  advance(ms: number): Promise<void>;
  state(word: string): void;
  /** Undefined until the call is answered. */
  told(): Unread | null | undefined;
}

test("a call is held until what was said has been taken from its input: only then is it in its next model call", async () => {
  await spokenTo(async ({ advance, state, told }) => {
    await advance(1999);
    expect(told()).toBeUndefined();
    state("queued");
  });
});

test("a call is answered after two seconds, whatever it says of its input", async () => {
  await spokenTo(({ advance }) => advance(2000));
});
