import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Clock } from "../../src/protocol/clock.ts";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { manualClock, temporaryHome } from "../../src/testing/index.ts";
import { within } from "../../src/testing/within.ts";
import { acpAdapter } from "../../src/workers/outside/acp/acp.ts";
import type { EventQueue } from "../../src/workers/outside/session/event-queue.ts";
import type { OutsideEvent, Unread } from "../../src/workers/outside/session/session.ts";
import { heard, sessionSetup, withoutDeltas } from "./session-setup.ts";

const adapter = acpAdapter(systemClock);
/** This agent does not say what it used; that it is estimated is tried in acp-translation.test.ts. */
const told = (events: readonly OutsideEvent[]) => withoutDeltas(events).filter(({ kind }) => kind !== "used");
const fake = (how = ""): ProgramProfile => ({
  kind: "acp",
  command: [process.execPath, join(import.meta.dirname, "fake-acp-agent.ts"), how],
});
const BEGUN: OutsideEvent = { kind: "begun", session_id: "s-1", model: "unknown" };
const said = (text: string): OutsideEvent => ({ kind: "said", text });
const rested = (words: string, how: "done" | "cancelled" | "refused" = "done"): OutsideEvent => ({
  kind: "rested",
  how,
  words,
});
const ENDED = expect.objectContaining({ kind: "exited" });

/** Talks to the fake until it rests; each line is said when the one before is done with. */
async function talk(folder: string, lines: string[], how = "", more: object = {}) {
  const setup = await sessionSetup(folder, fake(how), { words: lines[0] ?? "", system: "You are Bob.", ...more });
  const session = await adapter(setup);
  let next = 1;
  const events = await heard(session, async ({ kind }) => {
    if (kind !== "rested") return;
    const words = lines[next++];
    await (words === undefined ? session.close() : session.say(words));
  });
  return told(events);
}

test("a turn, and another; who it is comes first where the agent takes no system prompt", async () => {
  await using home = await temporaryHome();
  expect(await talk(home.path, ["hello", "again"])).toEqual([
    BEGUN,
    said("You are Bob.\n\nhello"),
    rested("You are Bob.\n\nhello"),
    said("again"),
    rested("again"),
    ENDED,
  ]);
});

test("a line that is not a message, or that nobody understands, is noted, and the turn goes on", async () => {
  await using home = await temporaryHome();
  expect(await talk(home.path, ["Garble"])).toEqual([
    BEGUN,
    { kind: "noted", text: "It sent a line that is not a message: this is no JSON" },
    { kind: "noted", text: 'It sent a line that is not a message: {"jsonrpc":"2.0","id":999,"result":{}}' },
    { kind: "noted", text: "It sent a line that is not a message: [1,2]" },
    { kind: "noted", text: 'It sent a line that is not a message: "x"' },
    { kind: "noted", text: 'It sent a line that is not a message: {"jsonrpc":"1.0"}' },
    { kind: "noted", text: "It sent an update that we do not understand: never_heard_of." },
    { kind: "noted", text: "It sent an update that we do not understand." },
    said("still here"),
    rested("still here"),
    ENDED,
  ]);
});

test("one that never answers is ended after a minute, and says why", async () => {
  await using home = await temporaryHome();
  const clock = manualClock();
  const session = await acpAdapter(clock)(await sessionSetup(home.path, fake("mute")));
  await clock.sleeping();
  await clock.advance(60_000);
  expect(await heard(session)).toEqual([
    { kind: "rested", how: "failed", words: "It did not answer initialize within 60 s: timed out.", retryable: true },
    ENDED,
  ]);
});

test("one that speaks another version of the protocol is not spoken to", async () => {
  await using home = await temporaryHome();
  expect(await talk(home.path, [], "future")).toEqual([
    { kind: "rested", how: "failed", words: "It speaks version 2 of ACP; we speak version 1.", retryable: false },
    ENDED,
  ]);
});

test("one that vanishes in the middle of a turn leaves no call open, and what it wrote to its standard error", async () => {
  await using home = await temporaryHome();
  expect(await talk(home.path, ["Vanish"])).toEqual([
    BEGUN,
    { kind: "called", call_id: "c-1", tool: "execute", args: { command: "rm" }, isBegun: true },
    { kind: "answered", call_id: "c-1", ok: false, content: "Outcome unknown: the program ended while this ran." },
    { kind: "noted", text: "segmentation fault" },
    { kind: "exited", code: 139, signal: null, exceeded: null },
  ]);
});

test("one that asks before it has told all of a call is asked about once, with all of it", async () => {
  await using home = await temporaryHome();
  const setup = await sessionSetup(home.path, { ...fake("whole"), quirks: "opencode" }, { words: "AskEarly" });
  const session = await adapter(setup);
  const events = await heard(session, async (event) => {
    if (event.kind === "asked_permission") await session.decide(event.id, { allow: true });
    if (event.kind === "rested") await session.close();
  });
  const whole = { command: "touch a", description: "Touches a", cwd: "/" };
  expect(told(events).slice(1, -2)).toEqual([
    { kind: "called", call_id: "c-1", tool: "bash", args: whole, isBegun: true },
    expect.objectContaining({ kind: "asked_permission", args: { command: "touch a" }, announced: whole }),
    said('decided: {"outcome":"selected","optionId":"once"}'),
    expect.objectContaining({ kind: "answered", call_id: "c-1" }),
  ]);
});

test("one that asks before it has told all of a call, and never does, is asked about all the same", async () => {
  await using home = await temporaryHome();
  // The moment in which it might is over at once.
  const hasty: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms < 5000 ? 1 : ms, signal) };
  const setup = await sessionSetup(home.path, { ...fake(), quirks: "opencode" }, { words: "AskEarly" });
  const session = await acpAdapter(hasty)(setup);
  const events = await heard(session, async ({ kind }) => {
    if (kind === "asked_permission") await session.close();
  });
  expect(events.filter(({ kind }) => kind === "asked_permission")).toMatchObject([
    { args: { command: "touch a" }, announced: { cwd: "/" } },
  ]);
});

test("one that asks for permission and vanishes: a decision that comes too late changes nothing", async () => {
  await using home = await temporaryHome();
  const session = await adapter(await sessionSetup(home.path, fake(), { words: "AskAndVanish", system: "" }));
  const events = await heard(session);
  await session.decide("permission-1", { allow: true });
  expect(told(events).map(({ kind }) => kind)).toEqual(["begun", "called", "asked_permission", "answered", "exited"]);
});

test("permission is given once, or not; the reason, for which the protocol has no room, is said next", async () => {
  await using home = await temporaryHome();
  const decided = async (decision: { allow: boolean; why?: string }, at: string) => {
    const session = await adapter(await sessionSetup(join(home.path, at), fake(), { words: "Ask", system: "" }));
    const events = await heard(session, async (event) => {
      if (event.kind === "asked_permission") await session.decide(event.id, decision);
      if (event.kind === "rested") await session.close();
    });
    return events.flatMap((event) => (event.kind === "said" ? [event.text] : []));
  };
  expect(await decided({ allow: true }, "yes")).toEqual(['decided: {"outcome":"selected","optionId":"once"}']);
  expect(await decided({ allow: false, why: "it is ours." }, "no")).toEqual([
    'decided: {"outcome":"selected","optionId":"no"}',
    "rm: permission was not given. it is ours.",
  ]);
});

test("a flood of requests is not answered by a flood of reasons", async () => {
  await using home = await temporaryHome();
  const session = await adapter(await sessionSetup(home.path, fake(), { words: "Nag", system: "" }));
  let asked = 0;
  const events = await heard(session, async (event) => {
    if (event.kind === "asked_permission") {
      asked += 1;
      await session.decide(event.id, { allow: false, why: "No." });
    }
    if (event.kind === "rested") await session.close();
  });
  const said = events.flatMap((event) => (event.kind === "said" ? event.text.split("\n").filter(Boolean) : []));
  expect([asked, said.length, said[0]]).toEqual([300, 20, "rm 0: permission was not given. No."]);
});

test("what is said while a turn runs is the next prompt, and it does not rest in between", async () => {
  await using home = await temporaryHome();
  const session = await adapter(await sessionSetup(home.path, fake(), { words: "Ask", system: "" }));
  const events = await heard(session, async (event) => {
    if (event.kind === "asked_permission") {
      await session.say("one");
      await session.say("two");
      await session.decide(event.id, { allow: true });
    }
    if (event.kind === "rested") await session.close();
  });
  expect(events.filter(({ kind }) => kind === "said" || kind === "rested").slice(1)).toEqual([
    said("one\n\ntwo"),
    rested("one\n\ntwo"),
  ]);
});

test("interrupted, it rests and what waited is not sent by itself; it goes out with what is said next", async () => {
  await using home = await temporaryHome();
  const session = await adapter(await sessionSetup(home.path, fake(), { words: "Hold", system: "" }));
  let rests = 0;
  const events = await heard(session, async (event) => {
    if (event.kind === "delta" && event.text === "holding") {
      await session.say("waited");
      await session.interrupt();
    }
    if (event.kind === "rested") await (++rests === 1 ? session.say("now") : session.close());
  });
  expect(told(events).slice(1, -1)).toEqual([
    said("holding"),
    rested("holding", "cancelled"),
    said("waited\n\nnow"),
    rested("waited\n\nnow"),
  ]);
});

test("words that begin with a slash are words, not a command", async () => {
  await using home = await temporaryHome();
  expect((await talk(home.path, ["/logout"], "", { system: "" }))[1]).toEqual(said("You are told: /logout"));
});

test("a refusal is told as such", async () => {
  await using home = await temporaryHome();
  expect(await talk(home.path, ["Refuse"])).toEqual([BEGUN, rested("", "refused"), ENDED]);
});

test("files are read and written for it where it works and nowhere else, also not through a link, and no terminal is there", async () => {
  await using home = await temporaryHome();
  const setup = await sessionSetup(home.path, fake());
  const secret = join(home.path, "secret");
  await writeFile(secret, "the key");
  await symlink(home.path, join(setup.cwd, "out"));
  await symlink(secret, join(setup.cwd, "link"));
  const lines = [join(setup.cwd, "a/b.md"), secret, join(setup.cwd, "out/secret"), join(setup.cwd, "link")];
  const events = await talk(
    home.path,
    lines.map((path) => `Files ${path} mine`),
    "",
    { system: "" },
  );
  const answers = events.flatMap((event) => (event.kind === "said" ? [JSON.parse(event.text)] : []));
  const noTerminal = { error: "There is no terminal here: run commands with your own tools." };
  const outside = { error: expect.stringContaining("is all we read and write for you") };
  const refused = { error: expect.stringContaining("Invalid params") };
  expect(answers).toEqual([
    [{}, { content: "mine" }, noTerminal],
    [outside, outside, noTerminal],
    [refused, refused, noTerminal],
    // What has the name of a link is put in its place.
    [{}, { content: "mine" }, noTerminal],
  ]);
  expect(await readFile(secret, "utf8")).toBe("the key");
});

test("resumed, it goes on without what it reports of its past, and with what it was not told before", async () => {
  await using home = await temporaryHome();
  const first = await adapter(await sessionSetup(home.path, fake(), { words: "Hold", system: "" }));
  await heard(first, async (event) => {
    if (event.kind !== "delta" || event.text !== "holding") return;
    await first.say("never sent");
    await first.say("said again by who takes it up");
    await first.close();
  });
  const words = "Go on. said again by who takes it up";
  const [begun, ...events] = await talk(home.path, [words], "", { resume: "s-1" });
  expect([begun, ...events]).toEqual([BEGUN, said(`never sent\n\n${words}`), rested(`never sent\n\n${words}`), ENDED]);
});

test("a session that cannot be resumed is not replaced: it exits without having begun, and says that it is lost", async () => {
  await using home = await temporaryHome();
  expect(await talk(home.path, [], "", { resume: "s-9" })).toEqual([{ kind: "lost", why: "no such session" }, ENDED]);
  expect(await talk(home.path, [], "forgetful", { resume: "s-1" })).toEqual([
    { kind: "lost", why: "It does not keep sessions." },
    ENDED,
  ]);
});

test("who dies while it takes its session up, wants to be signed in first or cannot just now has not said that it is lost", async () => {
  await using home = await temporaryHome();
  const dies = await talk(home.path, [], "dies-loading", { resume: "s-1" });
  expect(dies).toEqual([expect.objectContaining({ kind: "exited", code: 9 })]);
  const locked = await talk(home.path, [], "locked", { resume: "s-1" });
  expect(locked.map(({ kind }) => kind)).toEqual(["noted", "exited"]);
  const offline = await talk(home.path, [], "offline", { resume: "s-1" });
  expect(offline.map(({ kind }) => kind)).toEqual(["noted", "exited"]);
});

test("nothing is said to a new session before its id is on record", async () => {
  await using home = await temporaryHome();
  const named: string[] = [];
  const full = async (session_id: string) => {
    named.push(session_id);
    throw new Error("The disk is full.");
  };
  const events = await talk(home.path, ["Echo"], "", { named: full });
  expect(named).toEqual(["s-1"]);
  expect(told(events).map(({ kind }) => kind)).toEqual(["rested", "exited"]);
  expect(events).toContainEqual(expect.objectContaining({ kind: "rested", how: "failed", words: "The disk is full." }));
});

test("a flood waits in the program: our memory stays, and closing takes no longer", async () => {
  await using home = await temporaryHome();
  const session = await adapter(await sessionSetup(home.path, fake(), { words: "Flood" }));
  const before = process.memoryUsage().rss;
  let highest = 0;
  let seen = 0;
  const queue = session.events as EventQueue;
  const push = queue.push.bind(queue);
  let waiting = 0;
  let most = 0;
  queue.push = (...events) => {
    waiting += events.length;
    most = Math.max(most, waiting);
    push(...events);
  };
  await heard(session, async ({ kind }) => {
    waiting -= 1;
    // Slower than the program writes.
    await setImmediate();
    if (kind !== "delta") return;
    if (++seen % 1000 === 0) highest = Math.max(highest, process.memoryUsage().rss);
    if (seen === 20_000) {
      expect(most).toBeLessThan(1100);
      await within(5000, session.close());
    }
  });
  expect(seen).toBeGreaterThanOrEqual(20_000);
  expect((highest - before) / 2 ** 20).toBeLessThan(150);
});

test("one that ignores every signal is gone within 5 s", async () => {
  await using home = await temporaryHome();
  const session = await adapter(await sessionSetup(home.path, fake("stubborn"), { words: "Hold" }));
  const events = await heard(session, async (event) => {
    if (event.kind === "delta" && event.text === "holding") await within(5000, session.close());
  });
  expect(events.at(-1)).toEqual({ kind: "exited", code: null, signal: "SIGKILL", exceeded: null });
});

/** An agent that is told something while it runs a command, and then publishes: what of that its model has not read. */
async function unreadBy(how: "steered" | "steered-late", askedAt: OutsideEvent["kind"]) {
  await using home = await temporaryHome();
  const profile: ProgramProfile = { ...fake(how), quirks: "codex" };
  const session = await adapter(await sessionSetup(home.path, profile, { words: "Publish" }));
  let unread: Promise<Unread | null> | undefined;
  await heard(session, async (event) => {
    if (event.kind === "called" && event.call_id === "c-1") await session.say("Paint it red.");
    // Its call comes to our door.
    if (event.kind === askedAt) unread ??= session.takeUnread?.("publish");
    if (event.kind === "asked_permission") await session.decide(event.id, { allow: true });
    if (await unread?.then(() => event.kind === "used")) await session.close();
  });
  return unread;
}

test("what came with the last result has been read, also if the agent tells of that after its publish has come", async () => {
  expect(await unreadBy("steered", "asked_permission")).toBeNull();
});

test("what it took after that result has not been read, also if it tells of the result late", async () => {
  expect(await unreadBy("steered-late", "used")).toEqual({ words: [] });
});

test("a publish is not answered before what was said to it was taken: its next model call would not have it", async () => {
  await using home = await temporaryHome();
  const profile: ProgramProfile = { ...fake("steered-slow"), quirks: "codex" };
  const session = await adapter(await sessionSetup(home.path, profile, { words: "Publish" }));
  const order: string[] = [];
  let unread: Promise<Unread | null> | undefined;
  await heard(session, async (event) => {
    if (event.kind === "called" && event.call_id === "c-1") await session.say("Paint it red.");
    if (event.kind === "used" && !unread) {
      unread = session.takeUnread?.("publish");
      void unread?.then(() => order.push("answered"));
    }
    if (event.kind !== "asked_permission") return;
    order.push("taken");
    await session.decide(event.id, { allow: true });
    await unread;
    await session.close();
  });
  expect([await unread, order]).toEqual([{ words: [] }, ["taken", "answered"]]);
});
