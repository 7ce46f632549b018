import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import { call, type ManualClock, manualClock, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import type { ScriptedModel } from "../../src/testing/script.ts";

const EVERY = 60;
const plan = { goal: "Watch it", mode: "infinite", cycle_seconds: EVERY } as const;
const isAsleep = (coordinator: ScriptedModel, played: number) => (now: Situation) =>
  coordinator.played === played && now.roster.coordinator?.status === "waiting";
/** As editors do: a look in the middle sees the file before or after, never empty. */
async function save(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}
const lastWords = ({ requests }: ScriptedModel) => `${requests.at(-1)?.history.at(-1)?.content}`;

test("an infinite agent that watches a file is woken when its content changes, and costs nothing before", async () => {
  await using project = await folder();
  const clock = manualClock();
  const file = join(project.path, "data.csv");
  await writeFile(file, "a\nb\n");
  const looks = Array.from({ length: 3 }, (_, at) => call("checkpoint", { summary: `Look ${at + 1}.` }));
  const coordinator = script(...looks);
  const watch = { path: "project/data.csv" };
  await using team = await startTeam({ ...plan, clock, coordinator, project: project.path, watch });
  await team.until(isAsleep(coordinator, 1));
  await team.until(({ triggers }) => Object.values(triggers.open).some(({ seen }) => seen));
  expect(coordinator.requests[0]?.system).toContain("you are woken when project/data.csv changes, by your triggers");
  await quiet(clock);
  await save(file, "a\nb\n"); // touched, and the same
  await quiet(clock);
  expect(coordinator.requests).toHaveLength(1);

  await save(file, "a\nc\n");
  await lookUntil(team, clock, 1, isAsleep(coordinator, 2));
  expect(lastWords(coordinator)).toContain("project/data.csv has changed: 4 → 4 bytes");
  expect(lastWords(coordinator)).toContain("- b\n+ c");

  // While nobody is there: noticed once, with the start.
  const away = team.restart();
  await save(file, "a\nc\nd\n");
  await using back = await away;
  await back.agent.start("recovered");
  await lookUntil(back, clock, 2, isAsleep(coordinator, 3));
  await quiet(clock);
  expect(coordinator.requests).toHaveLength(3);
  expect((await back.facts()).filter(({ type }) => type === "trigger.fired")).toHaveLength(2);
});

test("what cannot be looked at is refused when it is set, told once when it goes away, and quiet when it comes back", async () => {
  const page = { status: 200, text: "Nothing new" };
  const server = createServer((_, response) => {
    response.statusCode = page.status;
    response.setHeader("content-type", "text/plain");
    response.end(page.text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  const on = (url: string) => ({ type: "on_change", config: { url, every_seconds: EVERY }, action: "Read it." });
  const clock = manualClock();
  const coordinator = script(
    call("schedule", on("http://127.0.0.2/private")),
    call("schedule", on(`http://${host}/news`)),
    call("checkpoint", { summary: "Set." }),
    call("checkpoint", { summary: "It is away." }),
    call("checkpoint", { summary: "It has news." }),
  );
  const config = { web_fetch: { allow: [host] } };
  await using team = await startTeam({ ...plan, cycle_seconds: 86_400, clock, coordinator, config });
  await team.until(isAsleep(coordinator, 3));
  const [refused, made] = (await team.conversation()).filter((entry) => entry.role === "tool");
  expect(refused?.content).toMatch(/^Not scheduled: it cannot be looked at: .*Only the public web is fetched\.$/);
  expect(made?.content).toContain(`on_change of http://${host}/news, checked every 60 s`);

  page.status = 503;
  await lookUntil(team, clock, 1, isAsleep(coordinator, 4));
  expect(lastWords(coordinator)).toContain(`http://${host}/news cannot be looked at: The server answered 503.`);
  await quiet(clock);
  page.status = 200;
  await quiet(clock);
  expect(coordinator.requests).toHaveLength(4);
  page.text = "AI sleeps";
  await lookUntil(team, clock, 2, isAsleep(coordinator, 5));
  expect(lastWords(coordinator)).toContain("+ AI sleeps");
  expect(lastWords(coordinator)).toContain("<foreign ");
  server.close();
  server.closeAllConnections();
});

test("what a command prints in the sandbox is watched", async () => {
  const clock = manualClock();
  const coordinator = script(
    call("write_file", { path: "notes/n.md", content: "one\n" }),
    call("checkpoint", { summary: "Set." }),
    call("checkpoint", { summary: "Seen." }),
  );
  const watch = { command: "wc -l < notes/n.md" };
  await using team = await startTeam({ ...plan, clock, coordinator, watch });
  await team.until(isAsleep(coordinator, 2));
  await team.until(({ triggers }) => Object.values(triggers.open).some(({ seen }) => seen));
  await quiet(clock);
  await writeFile(join(team.agent.log.dir, "runs/run-1/notes/n.md"), "one\ntwo\n");
  await lookUntil(team, clock, 1, isAsleep(coordinator, 3));
  expect(lastWords(coordinator)).toContain("the output of wc -l < notes/n.md has changed");
  expect(lastWords(coordinator)).toContain("+ 2");
});

test("a folder is watched too; a tool that the agent was not given watches nothing", async () => {
  await using project = await folder();
  await mkdir(join(project.path, "docs"));
  await writeFile(join(project.path, "docs/a.md"), "one");
  const on = (config: object) => ({ type: "on_change", config: { ...config, every_seconds: 30 }, action: "Look." });
  const clock = manualClock();
  const coordinator = script(
    call("schedule", on({ path: "project/docs" })),
    call("schedule", on({ command: "ls" })),
    call("checkpoint", { summary: "Set." }),
    call("checkpoint", { summary: "Seen." }),
  );
  const tools = ["schedule", "read_file"];
  await using team = await startTeam({
    ...plan,
    ...{ cycle_seconds: 86_400, clock, coordinator, tools, project: project.path },
  });
  await team.until(isAsleep(coordinator, 3));
  const [, refused] = (await team.conversation()).filter((entry) => entry.role === "tool");
  expect(refused?.content).toBe("Not scheduled: this agent was not given bash.");
  await writeFile(join(project.path, "docs/b.md"), "two");
  await lookUntil(team, clock, 1, isAsleep(coordinator, 4));
  expect(lastWords(coordinator)).toContain("+ project/docs/b.md (3 bytes, ");
});

/** Some looks at which nothing is new. */
async function quiet(clock: ManualClock): Promise<void> {
  for (let look = 0; look < 3; look++) await lookOnce(clock);
}

/** A look takes as long as its disk and its network do. */
async function lookOnce(clock: ManualClock): Promise<void> {
  await clock.sleeping(2);
  await clock.advance(EVERY * 1000);
}

/**
 * Looks until changes were noticed so often in all; what the agent makes of the last one takes no time. If time went on
 * while it works, hours would pass on a busy machine, and the nightly upkeep of its memory with them.
 */
async function lookUntil(
  team: TestTeam,
  clock: ManualClock,
  times: number,
  isSo: (now: Situation) => boolean,
): Promise<void> {
  const noticed = () =>
    Object.values(team.agent.now.triggers.open)
      .filter(({ when }) => when.type === "on_change")
      .reduce((sum, { fired }) => sum + fired, 0);
  while (noticed() < times) await lookOnce(clock);
  await team.until(isSo);
}

async function folder() {
  const path = await mkdtemp(join(tmpdir(), "watched-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test("what an infinite agent watches is looked at every minute, unless somebody says how often", async () => {
  await using project = await folder();
  await writeFile(join(project.path, "data.csv"), "a\n");
  for (const [cycle_seconds, seen] of [
    [undefined, 60],
    [3600, 3600],
    [1, 10],
  ]) {
    const coordinator = script(call("checkpoint", { summary: "Looked." }));
    const order = { goal: "Watch it", mode: "infinite", ...(cycle_seconds && { cycle_seconds }) } as const;
    const watch = { path: "project/data.csv" };
    await using team = await startTeam({ ...order, coordinator, project: project.path, watch });
    await team.until(isAsleep(coordinator, 1));
    const [trigger] = Object.values(team.agent.now.triggers.open).filter(({ when }) => when.type === "on_change");
    expect(trigger?.when.config).toMatchObject({ every_seconds: seen });
  }
});
