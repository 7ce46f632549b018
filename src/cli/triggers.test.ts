import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { CliProcess } from "./testing/cli-process.ts";
import { finish, lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run, start } = scriptedAgent();

const schedule = (args: object) => ({ name: "schedule", args });
const YEARLY = { type: "scheduled", config: { cron: "0 9 1 1 *", time_zone: "UTC" }, action: "Paint it again" };
const NEXT_YEAR = `${new Date().getUTCFullYear() + 1}-01-01 09:00:00 UTC`;

test("what an agent will do later is listed, and changed by its human; the record is all that is needed", async () => {
  await scripted([{ calls: [schedule(YEARLY), { name: "finish", args: { summary: "Painted." } }] }]);
  const ran = await run();
  expect({ code: ran.code, words: lines(ran).slice(-1) }).toEqual({
    code: 0,
    words: ["1 trigger is set. It fires only while a process works on it: agiraph resume ID"],
  });

  const added = await call(
    ...["triggers", "paint", "--add"],
    '{"type":"on_event","config":{"event_pattern":"agent.failed"},"action":{"type":"send_message","to":"human","content":"Help"}}',
  );
  expect({ code: added.code, words: lines(added) }).toEqual({
    code: 0,
    words: ['Scheduled trigger-2 [active] on_event agent.failed: write to human: "Help"'],
  });
  expect((await call("triggers", "paint", "--pause", "trigger-2")).stderr).toBe("trigger-2 is paused.\n");
  const listed = await call("triggers", "paint");
  expect({ table: listed.stdout.trimEnd().split("\n").map(spaced), hint: lines(listed) }).toEqual({
    table: [
      "TRIGGER STATUS NEXT FIRED BY WHEN THEN",
      `trigger-1 active ${NEXT_YEAR} 0 coordinator scheduled "0 9 1 1 *" (UTC) wake up with "Paint it again"`,
      'trigger-2 paused - 0 you on_event agent.failed write to human: "Help"',
    ],
    hint: ["They fire only while a process works on it, and none does now. agiraph resume ID"],
  });

  expect((await call("triggers", "paint", "--resume", "2")).stderr).toBe("trigger-2 is resumed.\n");
  expect((await call("triggers", "paint", "--cancel", "1", "--json")).stdout).toContain("trigger-1 is cancelled.");
  const records = async (...more: string[]) =>
    (await call("triggers", "paint", "--json", ...more)).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  expect([await records(), (await records("--all")).map(({ id, status }) => [id, status])]).toEqual([
    [
      {
        id: "trigger-2",
        agent_id: expect.stringMatching(/^agent-/),
        type: "on_event",
        action: { type: "send_message", payload: { to: "human", content: "Help" } },
        status: "active",
        created_at: expect.any(Number),
        created_by: "human",
        metadata: { event_pattern: "agent.failed" },
        missed: "once",
        due: null,
        fired: 0,
      },
    ],
    [
      ["trigger-2", "active"],
      ["trigger-1", "cancelled"],
    ],
  ]);
  const { dir } = JSON.parse((await call("show", "paint", "--json")).stdout);
  expect(JSON.parse(await readFile(`${dir}/triggers.json`, "utf8"))).toEqual(await records("--all"));
});

test("what cannot be changed is refused in words, and nothing changes", async () => {
  await scripted([{ calls: [schedule(YEARLY), { name: "finish", args: { summary: "Painted." } }] }]);
  await run();
  const before = (await call("logs", "paint")).stdout;
  const refused = await Promise.all([
    call("triggers", "paint", "--cancel", "9"),
    call("triggers", "paint", "--resume", "1", "--json"),
    call("triggers", "paint", "--pause", "1", "--cancel", "1"),
    call("triggers", "paint", "--add", "every day"),
    call("triggers", "paint", "--add", '{"type":"sometimes","config":{},"action":"x"}'),
    call("triggers", "paint", "--add", '{"type":"scheduled","config":{"cron":"0 9 * *"},"action":"x"}'),
    call("triggers", "paint", "--add", JSON.stringify({ ...YEARLY, mised: "skip" })),
  ]);
  expect(refused.map(({ code, stderr }) => [code, stderr.split("\n")[0]])).toEqual([
    [1, '✗ There is no trigger "trigger-9". Choose from: trigger-1.'],
    [1, "✗ trigger-1 cannot be resumed: it is active."],
    [2, "✗ Give only one of --add, --cancel, --pause and --resume at a time."],
    [2, expect.stringMatching(/^✗ --add takes JSON, such as \{"type":"scheduled"/)],
    [2, "✗ This is not a valid trigger:"],
    [1, expect.stringMatching(/^✗ Not scheduled: /)],
    [2, "✗ This is not a valid trigger:"],
  ]);
  expect(refused[4]?.stderr.split("\n")[1]).toBe(
    '  type: expected one of "scheduled", "delayed", "at_time", "heartbeat", "on_event", "on_idle", "on_change"',
  );
  expect(refused.at(-1)?.stderr).toContain('there is no field "mised". Did you mean "missed"?');
  expect((await call("logs", "paint")).stdout).toBe(before);
});

test("while a process works on it, that process makes the change", async () => {
  const provider = await scripted([{ hold: "begun", ...finish("Painted.") }]);
  const working = start();
  await provider.reached("begun");
  const added = await call("triggers", "paint", "--add", JSON.stringify(YEARLY));
  expect({ code: added.code, words: lines(added)[0] }).toEqual({
    code: 0,
    words: expect.stringMatching(/^Scheduled trigger-1 \[active\] scheduled "0 9 1 1 \*" \(UTC\), next /),
  });
  const unknown = await call("triggers", "paint", "--cancel", "2", "--json");
  expect([unknown.code, JSON.parse(unknown.stdout)]).toEqual([
    1,
    { error: { code: "not_found", message: 'There is no trigger "trigger-2". Choose from: trigger-1.' } },
  ]);
  provider.release("begun");
  expect(lines(await working.ended).at(-1)).toMatch(/^1 trigger is set\./);
});

test("resume of an agent that is done keeps time for its triggers, wakes it, and leaves at Ctrl-C", async () => {
  const provider = await scripted([
    {
      calls: [
        schedule({ type: "delayed", config: { delay_seconds: 1 }, action: "Look whether it is dry" }),
        schedule(YEARLY),
        { name: "finish", args: { summary: "Painted." } },
      ],
    },
    finish("It is dry."),
  ]);
  await run();
  const keeping = new CliProcess(["resume", "paint"], options());
  await keeping.saw("paint-house is done (It is dry.); asleep until ");
  const [second, stop] = await Promise.all([call("serve", "--port", "0"), call("stop", "paint")]);
  expect([second.code, lines(second), stop.code, lines(stop)]).toEqual([
    1,
    [
      expect.stringMatching(
        /is in use by pid \d+ \(agiraph resume, since [^)]+\), which is not working on an agent now: it waits for the triggers of one that is done/,
      ),
    ],
    0,
    [
      `paint-house (ID) is not at work: it is completed. If pid ${keeping.pid} waits for its triggers, Ctrl-C there ends that.`,
    ],
  ]);
  keeping.signal("SIGINT");
  const ended = await keeping.ended;
  const words = lines(ended);
  expect({ code: ended.code, woken: words.find((line) => line.startsWith("run-2")), last: words.at(-1) }).toEqual({
    code: 130,
    woken: "run-2       ▸ Look whether it is dry",
    last: "1 trigger is set. It fires only while a process works on it: agiraph resume ID",
  });
  provider.assertDone();
  expect((await call("triggers", "paint", "--cancel", "2")).code).toBe(0);
  const nothing = await call("resume", "paint");
  expect([nothing.code, lines(nothing)[0]]).toEqual([
    1,
    '✗ paint-house (ID) is completed; there is nothing to continue. Its result: agiraph show ID. To have more done: agiraph send ID "…"',
  ]);
});

function spaced(line: string): string {
  return line.replace(/ {2,}/g, " ");
}
