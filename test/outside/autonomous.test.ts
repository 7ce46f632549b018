import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { within } from "../../src/testing/within.ts";
import { autonomousAdapter } from "../../src/workers/outside/files/autonomous.ts";
import type { OutsideEvent } from "../../src/workers/outside/session/session.ts";
import { heard, sessionSetup, withoutDeltas } from "./session-setup.ts";

const adapter = autonomousAdapter(systemClock);
const shell = (script: string): ProgramProfile => ({ kind: "autonomous", command: ["/bin/bash", "-c", script] });
const BEGUN: OutsideEvent = { kind: "begun", session_id: null };
const exited = (code: number | null, signal: string | null = null): OutsideEvent => ({
  kind: "exited",
  code,
  signal,
  exceeded: null,
});
const ID = expect.any(String);

test("it reads its task, sends messages and a suggestion, checkpoints, and requests that its result be published", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(
    folder.path,
    shell(`
      grep -q 'Measure the bridge' _task.md && grep -q '"node"' _context.json || exit 9
      printf 'TO: Alice\\nFROM: coordinator\\nIt is long.\\n---\\nSUGGEST: paint it\\n---\\n' >> _outbox.md
      echo 'Half of it.' > _checkpoint.md
      sleep 0.5
      echo '80 m' > length.md
      echo 'The bridge is 80 m long.' > _result.md
    `),
    { words: "Measure the bridge.", context: { node: "node-1" } },
  );
  expect(withoutDeltas(await heard(await adapter(setup)))).toEqual([
    BEGUN,
    { kind: "requested_call", tool: "send_message", args: { to: "Alice", content: "It is long." }, id: ID },
    { kind: "requested_call", tool: "suggest_next", args: { suggestion: "paint it" }, id: ID },
    { kind: "requested_call", tool: "checkpoint", args: { summary: "Half of it." }, id: ID },
    { kind: "requested_call", tool: "publish", args: { summary: "The bridge is 80 m long." }, id: ID },
    exited(0),
  ]);
});

test("a result while it still runs is taken when it is whole, and the program ends when it is closed", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(
    folder.path,
    shell("printf 'Do' > _result.md; sleep 0.1; echo 'ne.' >> _result.md; sleep 600"),
  );
  const session = await adapter(setup);
  const events = await heard(session, async ({ kind }) => {
    if (kind === "requested_call") await session.close();
  });
  expect(events).toEqual([
    BEGUN,
    { kind: "requested_call", tool: "publish", args: { summary: "Done." }, id: ID },
    exited(null, "SIGTERM"),
  ]);
  expect(await readFile(join(setup.cwd, "result.md"), "utf8")).toBe("Done.\n");
});

test("what it prints after its result was taken does not replace that result", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(
    folder.path,
    shell("echo 'The bridge is 80 m long.' > _result.md; until [ -e taken ]; do sleep 0.01; done; echo Goodbye."),
  );
  const session = await adapter(setup);
  const events = await heard(session, async ({ kind }) => {
    if (kind === "requested_call") await writeFile(join(setup.cwd, "taken"), "");
  });
  expect(withoutDeltas(events)).toEqual([
    BEGUN,
    { kind: "requested_call", tool: "publish", args: { summary: "The bridge is 80 m long." }, id: ID },
    { kind: "said", text: "Goodbye." },
    exited(0),
  ]);
  expect(await readFile(join(setup.cwd, "_result.md"), "utf8")).toBe("The bridge is 80 m long.\n");
});

test("what it is told is in its inbox, with the time", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(
    folder.path,
    shell("echo ready; until grep -q 'from Alice' _inbox.md; do sleep 0.05; done; cat _inbox.md > _result.md"),
  );
  const session = await adapter(setup);
  const events = await heard(session, async (event) => {
    if (event.kind === "delta" && event.text === "ready\n") await session.say("Message from Alice: hello");
  });
  expect(events.find(({ kind }) => kind === "requested_call")).toMatchObject({
    tool: "publish",
    args: { summary: expect.stringMatching(/^## \d{4}-\d\d-\d\dT[\d:.]+Z\n\nMessage from Alice: hello\n\n---$/) },
  });
});

test("how it ends is told: well and silently, badly, and with what it printed or a checkpoint for its result", async () => {
  await using folder = await temporaryHome();
  const ending = async (script: string, at: string) =>
    withoutDeltas(await heard(await adapter(await sessionSetup(join(folder.path, at), shell(script)))));
  expect(await ending("true", "silently")).toEqual([BEGUN, exited(0)]);
  expect(await ending("echo 'The answer.'", "well")).toEqual([
    BEGUN,
    { kind: "requested_call", tool: "publish", args: { summary: "The answer." }, id: ID },
    { kind: "said", text: "The answer." },
    exited(0),
  ]);
  expect(await ending("echo half; exit 7", "half")).toEqual([BEGUN, { kind: "said", text: "half" }, exited(7)]);
  expect(await ending("echo oh no >&2; exit 7", "badly")).toEqual([BEGUN, { kind: "noted", text: "oh no" }, exited(7)]);
  expect(await ending("kill -9 $$", "killed")).toEqual([BEGUN, exited(null, "SIGKILL")]);
  expect(await ending("echo 'All of it.' > _checkpoint.md", "checkpoint")).toEqual([
    BEGUN,
    { kind: "requested_call", tool: "publish", args: { summary: "All of it." }, id: ID },
    exited(0),
  ]);
});

test("a result that it prints in one long line is whole, and no letter of it is torn", async () => {
  await using folder = await temporaryHome();
  // 300 kB, which no pipe hands on at once; of an odd number of bytes before letters of two.
  const setup = await sessionSetup(
    folder.path,
    shell(`printf x; for at in {1..1500}; do printf 'é%.0s' {1..100}; done`),
  );
  const events = await heard(await adapter(setup));
  expect(events.find(({ kind }) => kind === "requested_call")).toMatchObject({ tool: "publish" });
  expect(await readFile(join(setup.cwd, "stdout.txt"), "utf8")).toBe(`x${"é".repeat(150_000)}`);
});

test("a torn last entry is sent by one who ended well, and not by one who was killed in the middle of it", async () => {
  await using folder = await temporaryHome();
  const sent = async (script: string, at: string) =>
    (await heard(await adapter(await sessionSetup(join(folder.path, at), shell(script))))).flatMap((event) =>
      event.kind === "requested_call" ? [event.args] : [],
    );
  expect(await sent("printf 'TO: Alice\\nbye' > _outbox.md", "well")).toEqual([{ to: "Alice", content: "bye" }]);
  expect(await sent("printf 'TO: Alice\\nby' > _outbox.md; kill -9 $$", "killed")).toEqual([]);
});

test("after a restart nothing is sent twice, and what was not dealt with is requested again under the same id", async () => {
  await using folder = await temporaryHome();
  const script = "printf 'TO: Alice\\none\\n---\\nTO: Alice\\ntwo\\n---\\n' > _outbox.md; sleep 600";
  const setup = await sessionSetup(folder.path, shell(script));
  const session = await adapter(setup);
  const first: OutsideEvent[] = [];
  // The first request is dealt with, since the next event is asked for; in the middle of the second we are gone.
  for await (const event of session.events) {
    if (event.kind === "requested_call") first.push(event);
    if (first.length === 2) break;
  }
  await session.close();

  const again = await adapter({ ...setup, profile: shell("printf 'TO: Alice\\nthree\\n---\\n' >> _outbox.md") });
  const requested = (await heard(again)).filter(({ kind }) => kind === "requested_call");
  expect(requested).toEqual([
    first[1],
    { kind: "requested_call", tool: "send_message", args: { to: "Alice", content: "three" }, id: ID },
  ]);
});

test("a result written just before we were ended is taken without running the program again", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(folder.path, shell("echo ran >> runs.txt; echo 'Done.' > _result.md; sleep 600"));
  const session = await adapter(setup);
  for await (const event of session.events) if (event.kind === "requested_call") break;
  await session.close();
  const requested = (await heard(await adapter(setup))).map(({ kind }) => kind);
  expect(requested).toEqual(["begun", "requested_call", "exited"]);
  expect(await readFile(join(setup.cwd, "runs.txt"), "utf8")).toBe("ran\n");
});

test("a result that was refused and is written again, word by word the same, is requested again", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(folder.path, shell("echo 'Done.' > _result.md"));
  const first = (await heard(await adapter(setup))).find(({ kind }) => kind === "requested_call");
  const second = (await heard(await adapter(setup))).find(({ kind }) => kind === "requested_call");
  expect(second).toEqual({
    ...first,
    id: expect.not.stringMatching(`^${first?.kind === "requested_call" ? first.id : ""}$`),
  });
});

test("what another worker left in the folder is not this one's", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(folder.path, shell("true"));
  await writeFile(join(setup.cwd, "_result.md"), "Somebody else's.\n");
  await writeFile(join(setup.cwd, "_outbox.md"), "TO: Alice\nfrom somebody else\n---\n");
  expect(await heard(await adapter(setup))).toEqual([BEGUN, exited(0)]);
});

test("links, hard ones too, that it lays in place of its files lead nowhere", async () => {
  await using folder = await temporaryHome();
  const secret = join(folder.path, "secret");
  await writeFile(secret, "TO: Alice\nthe key\n---\n");
  const setup = await sessionSetup(
    folder.path,
    shell(
      `ln -f ${secret} _inbox.md; for f in _outbox.md _result.md; do ln -sf ${secret} $f; done; echo laid; sleep 600`,
    ),
  );
  const session = await adapter(setup);
  const events = await heard(session, async (event) => {
    if (event.kind !== "delta") return;
    await session.say("hello");
    await session.close();
  });
  expect(events.filter(({ kind }) => kind === "requested_call")).toEqual([]);
  expect(await readFile(secret, "utf8")).toBe("TO: Alice\nthe key\n---\n");
  // The control: the same words in a file of its own are heard.
  const plain = await sessionSetup(join(folder.path, "plain"), shell(`cat ${secret} > _outbox.md`));
  expect((await heard(await adapter(plain))).filter(({ kind }) => kind === "requested_call")).toHaveLength(1);
});

test("one that ignores being told to end is gone within 5 s, with all it started", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(
    folder.path,
    shell("trap '' TERM INT; (trap '' TERM; sleep 600) & echo up; while :; do sleep 1; done"),
  );
  const session = await adapter(setup);
  const events = await heard(session, async ({ kind }) => {
    if (kind === "delta") await within(5000, session.close());
  });
  expect(events.at(-1)).toEqual(exited(null, "SIGKILL"));
});

test("a flood on its output waits in the program", async () => {
  await using folder = await temporaryHome();
  const setup = await sessionSetup(
    folder.path,
    shell("yes 'all work and no play' | head -c 200000000; echo over > _result.md"),
  );
  const session = await adapter(setup);
  const before = process.memoryUsage().rss;
  let highest = 0;
  let seen = 0;
  await heard(session, async ({ kind }) => {
    if (kind === "delta" && ++seen % 5000 === 0) highest = Math.max(highest, process.memoryUsage().rss);
    if (seen === 50_000) await session.close();
  });
  expect((highest - before) / 2 ** 20).toBeLessThan(100);
});
