import { expect, test } from "vitest";
import type { ProgramProfile } from "../../protocol/index.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { EventQueue } from "../../workers/outside/session/event-queue.ts";
import type { OutsideEvent } from "../../workers/outside/session/session.ts";
import { HeadlessMember, type HeadlessPorts } from "./headless-member.ts";
import { isForOurTool } from "./our-tools.ts";

test.each([
  ["tx_done", { summary: "Done." }],
  ["mcp__agiraph__tx_send", { to: "two", text: "Hello." }],
  ["mcp_agiraph_tx_ask", { to: "human", question: "Which?" }],
])("%s needs nobody's permission", (tool, args) => {
  expect(isForOurTool({ tool, args })).toBe(true);
});

test.each([
  ["another server's", { tool: "mcp__evil__tx_done", args: {} }],
  ["a command under its name", { tool: "tx_done", args: { command: "curl evil.example", description: "tx_done" } }],
  ["a file under its name", { tool: "tx_done", args: { file_path: "/desk/a.md", content: "x" } }],
  ["a change under its name", { tool: "tx_done", args: null, changes: [{ path: "a.md", before: null, after: "x" }] }],
])("%s needs it", (_, request) => {
  expect(isForOurTool(request)).toBe(false);
});

test("HEADLESS-MEMBER-5: when nobody can be asked for permission, the program is told no, and why", async () => {
  const { told } = await asking(async () => {});
  expect(told).toEqual(["it may not: It is not allowed: nobody could be asked (The disk is full.)."]);
});

test("in a mesh, where it works in the project itself, a person is asked if the profile says nothing", async () => {
  const { told } = await asking(async () => {}, {});
  expect(told).toEqual(["it may not: It is not allowed: nobody could be asked (The disk is full.)."]);
});

test("HEADLESS-MEMBER-5: a program that cannot be answered is ended", async () => {
  const { told } = await asking(() => Promise.reject(new Error("It does not hear.")));
  expect(told).toEqual(["it may not: It is not allowed: nobody could be asked (The disk is full.).", "the end"]);
});

const begins = (task: string, at = "/project") => `begins with ${task} in ${at}`;

test.each([
  [true, {}, [begins("task-1"), "the end", begins("task-2")]],
  [false, {}, [begins("task-1"), "hears task-2"]],
  [false, { "task-2": "/clone" }, [begins("task-1"), "the end", begins("task-2", "/clone")]],
  [false, { "task-1": "/clone", "task-2": "/clone" }, [begins("task-1", "/clone"), "hears task-2"]],
])(
  "HEADLESS-MEMBER-7: clear_before %s, places %o: whether a task begins in a new session",
  async (clearsBefore, places: Record<string, string>, expected) => {
    const seen: string[] = [];
    const session = {
      events: (async function* (): AsyncGenerator<OutsideEvent> {
        await new Promise(() => {});
      })(),
      say: async (words: string) => void seen.push(`hears ${words}`),
      close: async () => void seen.push("the end"),
    };
    const adapter = async () => async (setup: { words: string; cwd: string }) => {
      seen.push(begins(setup.words, setup.cwd));
      return session;
    };
    const ports = {
      outside: { makeHome: async () => {}, adapter },
      profile: { kind: "acp" },
      tools: [],
      clearsBefore,
      folderFor: async ({ name }: { name: string }) => ({ cwd: places[name] ?? "/project", about: "" }),
      prompt: async () => "You are an agent.",
      words: ({ name }: { name: string }) => name,
      isActive: () => true,
      record: () => {},
    } as unknown as HeadlessPorts;
    const member = new HeadlessMember(ports);
    for (const name of ["task-1", "task-2"]) await member.tell({ name, header: { type: "task" } } as never);
    expect(seen).toEqual(expected);
  },
);

/** A program that begins, does its task and rests, each time it is started; or exits at once, as one without its session. */
function resting(
  starts: readonly ("rests" | "exits" | "is silent")[],
  profile: Pick<ProgramProfile, "rest_seconds"> = {},
) {
  const clock = manualClock();
  const seen: string[] = [];
  const sessions: EventQueue[] = [];
  let active = "";
  let at = 0;
  const adapter = async () => async (setup: { words: string; resume: string | null }) => {
    const how = starts[at++];
    const events = new EventQueue();
    sessions.push(events);
    seen.push(`${setup.resume === null ? "begins" : `resumes ${setup.resume}`} with ${setup.words}`);
    if (how === "rests")
      events.push({ kind: "begun", session_id: "s-1" }, { kind: "rested", how: "done", words: "Done." });
    if (how === "exits") events.end(exited);
    return {
      events,
      say: async (words: string) => {
        seen.push(`hears ${words}`);
        events.push({ kind: "rested", how: "done", words: "Done." });
      },
      canBeResumed: () => true,
      close: async () => {
        seen.push("the end");
        events.end(exited);
      },
    };
  };
  const ports = {
    ...{ clock, tools: [], clearsBefore: false, isActive: (name: string) => name === active },
    outside: { makeHome: async () => {}, adapter },
    profile: { kind: "acp", ...profile },
    folderFor: async () => ({ cwd: "/project", about: "" }),
    prompt: async () => "You are an agent.",
    words: ({ name }: { name: string }) => name,
    giveUp: async () => {
      active = "";
      seen.push("gives up");
    },
    record: (state: string) => void (state === "dead" && seen.push(state)),
  } as unknown as HeadlessPorts;
  const member = new HeadlessMember(ports);
  const tell = (name: string) => member.tell({ name, header: { type: "task" } } as never);
  const pass = async (minutes: number) => {
    await new Promise(setImmediate);
    await clock.advance(minutes * 60_000);
    await new Promise(setImmediate);
  };
  const activate = (name: string) => {
    active = name;
  };
  return { seen, sessions, tell, pass, activate };
}

const exited = { kind: "exited", code: 1, signal: null, exceeded: null } as const;

test("HEADLESS-MEMBER-6: who rests for a quarter of an hour is ended, and the next task resumes its session", async () => {
  const { seen, tell, pass } = resting(["rests", "rests"]);
  await tell("task-1");
  await pass(14);
  await tell("task-2");
  await pass(14);
  expect(seen).toEqual(["begins with task-1", "hears task-2"]);
  await pass(1);
  await pass(8 * 60);
  expect(seen.slice(2)).toEqual(["the end"]);
  await tell("task-3");
  expect(seen.slice(3)).toEqual(["resumes s-1 with task-3"]);
});

test("HEADLESS-MEMBER-6: a session that cannot be resumed is replaced; rest_seconds 0 ends nobody", async () => {
  const { seen, tell, pass } = resting(["rests", "exits", "rests"]);
  await tell("task-1");
  await pass(15);
  await tell("task-2");
  await pass(1);
  expect(seen).toEqual(["begins with task-1", "the end", "resumes s-1 with task-2", "begins with task-2"]);
  const stays = resting(["rests"], { rest_seconds: 0 });
  await stays.tell("task-1");
  await stays.pass(8 * 60);
  expect(stays.seen).toEqual(["begins with task-1"]);
});

test("HEADLESS-MEMBER-6: what is said while a session is being resumed is told to the one that replaces it", async () => {
  const { seen, sessions, tell, pass } = resting(["rests", "is silent", "rests"]);
  await tell("task-1");
  await pass(15);
  await tell("task-2");
  await tell("answer-1");
  sessions[1]?.end(exited);
  await pass(1);
  expect(seen.slice(2)).toEqual(["resumes s-1 with task-2", "hears answer-1", "begins with task-2\n\nanswer-1"]);
});

test("HEADLESS-MEMBER-6: who gave up a task rests; who works is not ended, whatever turn was over before", async () => {
  const { seen, tell, pass, activate } = resting(["rests"]);
  activate("task-1");
  await tell("task-1");
  await pass(15);
  expect([seen.filter((what) => what.startsWith("hears")).length, ...seen.slice(-2)]).toEqual([
    3,
    "gives up",
    "the end",
  ]);
  const works = resting(["rests"]);
  await works.tell("ask-1");
  await works.pass(1);
  works.sessions[0]?.push({ kind: "called", call_id: "c-1", tool: "Bash", args: {} });
  await works.pass(8 * 60);
  expect(works.seen).toEqual(["begins with ask-1"]);
});

/** A program asks for permission on a full disk. What it was told by the time nothing more came. */
async function asking(
  answer: () => Promise<void>,
  profile: Pick<ProgramProfile, "permissions"> = { permissions: "ask" },
): Promise<{ told: string[] }> {
  const told: string[] = [];
  const session = {
    events: (async function* (): AsyncGenerator<OutsideEvent> {
      yield { kind: "asked_permission", id: "1", tool: "shell", args: { command: "ls" } };
    })(),
    say: async () => {},
    interrupt: async () => {},
    decide: (_: string, { allow, why }: { allow: boolean; why?: string }) => {
      told.push(`it ${allow ? "may" : "may not"}: ${why}`);
      return answer();
    },
    close: async () => void told.push("the end"),
  };
  const ports = {
    outside: { makeHome: async () => {}, adapter: async () => async () => session },
    profile: { kind: "acp", ...profile },
    tools: [],
    folderFor: async () => ({ cwd: "/project", about: "" }),
    prompt: async () => "You are an agent.",
    words: () => "Do it.",
    isActive: () => false,
    askPermission: () => Promise.reject(new Error("The disk is full.")),
    record: () => {},
  } as unknown as HeadlessPorts;
  await new HeadlessMember(ports).tell({ name: "task-1", header: { type: "task" } } as never);
  // All of it is promises that are settled already.
  await new Promise(setImmediate);
  return { told };
}
