import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import { manualClock, temporaryHome } from "../testing/index.ts";
import { keepLearned, noteRun } from "./worker-memory.ts";

test("a finished run is noted once, also when a crash puts midnight before the second try", async () => {
  await using home = await temporaryHome();
  const clock = manualClock(Date.UTC(2026, 1, 11, 23, 59));
  const store = await openStore({ root: home.path, clock });
  const log = await store.create("agent-abcd");
  mkdirSync(join(log.dir, "memory"));
  const run = { id: "run-1", goal: "Measure\nthe chip" } as const;
  await noteRun(run, { kind: "finished", summary: "80." }, { log, clock, timeZone: "UTC" });
  await clock.advance(120_000);
  await noteRun(run, { kind: "finished", summary: "80." }, { log, clock, timeZone: "UTC" });
  await store.close();

  expect(readdirSync(join(log.dir, "memory"))).toEqual(["2026-02-11.md", "index.md"]);
  expect(readFileSync(join(log.dir, "memory/2026-02-11.md"), "utf8")).toBe(
    '## 23:59\n\nFinished "Measure the chip" (run-1): 80. The output is in agent/runs/run-1/_output.md.\n',
  );
});

test("only a line that stands there word for word is not written down again: its opposite is", async () => {
  await using home = await temporaryHome();
  const clock = manualClock(Date.UTC(2026, 1, 11, 12));
  const store = await openStore({ root: home.path, clock });
  const log = await store.create("agent-abcd");
  mkdirSync(join(log.dir, "memory"));
  const workplace = { log, clock, timeZone: "UTC" };
  const first = { id: "run-1", goal: "Deploy" } as const;
  await keepLearned(first, "- Deploy after migrating the users.\n- Use cp -r here", workplace);
  const learned = ["Deploy  after migrating the users", "* Use cp -R here", "Deploy before migrating the users."];
  const fresh = await keepLearned({ id: "run-2", goal: "Deploy" }, learned.join("\n"), workplace);
  await store.close();
  expect(fresh.split("\n")).toEqual(learned.slice(1));
});
