import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact } from "../../protocol/index.ts";
import { noPaint } from "./paint.ts";
import { triggerTable } from "./trigger-table.ts";

const AT = Date.UTC(2026, 1, 11, 13, 5) / 1000;

test("a trigger is one row where there is room; where there is not, when and what stand below it, whole", () => {
  const now = agentWith(
    { type: "scheduled", config: { cron: "0 9 * * MON", time_zone: "Europe/Berlin" } },
    { type: "wake_agent", payload: { task: "Survey the docs again and say what changed since last week" } },
  );
  const drawn = (columns: number) =>
    triggerTable(Object.values(now.triggers.open), now, AT, columns, noPaint).map((line) =>
      line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+/, "TIME"),
    );
  const short = [
    expect.stringMatching(/^TRIGGER {4}STATUS {2}NEXT +FIRED {2}BY$/),
    "trigger-1  active  TIME  0      coordinator",
  ];
  expect([drawn(200), drawn(80), drawn(60)]).toEqual([
    [
      expect.stringMatching(/^TRIGGER .* WHEN +THEN$/),
      'trigger-1  active  TIME  0      coordinator  scheduled "0 9 * * MON" (Europe/Berlin)  wake up with "Survey the docs again and say what changed since last week"',
    ],
    [
      ...short,
      '  scheduled "0 9 * * MON" (Europe/Berlin): wake up with "Survey the docs again',
      '  and say what changed since last week"',
    ],
    [
      expect.any(String),
      expect.any(String),
      '  scheduled "0 9 * * MON" (Europe/Berlin): wake up with',
      '  "Survey the docs again and say what changed since last',
      '  week"',
    ],
  ]);
});

type Created = Extract<NewFact, { type: "trigger.created" }>["data"];

function agentWith(when: Created["when"], action: Created["action"]): Situation {
  const facts: NewFact[] = [
    {
      type: "agent.created",
      data: {
        ...{ name: "watch", goal: "Watch", mode: "finite", model: "x/y", worker_model: "x/y" },
        ...{ budget_usd: null, project: null, tools: null },
      },
    },
    {
      type: "trigger.created",
      data: { trigger_id: "trigger-1", when, action, missed: "once", due: AT + 60, created_by: "coordinator" },
    },
  ];
  const [first, ...rest] = facts.map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: AT, ...fact }) as Fact);
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}
