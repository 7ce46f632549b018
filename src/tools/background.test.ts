import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { inSandbox, lifeOf, skipped } from "../../test/try-sandbox.ts";
import type { ProgramEnd, RunningProgram, Sandbox } from "../sandbox/index.ts";
import { type ProcessEvent, type ShellPorts, shellTools } from "./shell.ts";
import { closeTools, onlyLooks, type Tool } from "./tool.ts";

const signal = new AbortController().signal;

test("a command in the background gives an id at once, then what it says in pieces, then how it ended", async () => {
  const desk = deskWith(played());
  const [program] = desk.programs;
  const id = await begin(desk);
  expect(desk.events).toEqual([
    { type: "started", pid: 7, command: "serve", sandbox: "bubblewrap", background: "bg-7" },
  ]);
  expect(await desk.use("bash_output", { id })).toMatch(/^Still running after \d+ s\.\n\(no new output\)$/);
  program?.say("listening\n");
  expect(await desk.use("bash_output", { id })).toMatch(/^Still running after \d+ s\.\nlistening$/);
  program?.say("bye\n");
  program?.end({ code: 3, signal: null, exceeded: null });
  expect(await desk.use("bash_output", { id, wait: 60 })).toBe("Exit code 3.\nbye");
  expect(await desk.use("bash_output", { id })).toBe("Exit code 3.\n(no new output)");
});

test("looking at a command changes nothing for anybody; stopping it does", () => {
  const specs = deskWith(played()).tools.map(({ spec }) => spec);
  const looks = (name: string, args: object) => onlyLooks({ type: "call", id: "1", name, args }, specs);
  expect([
    looks("bash_output", { id: "bg-7", wait: 5 }),
    looks("bash_output", { id: "bg-7", stop: true }),
    looks("bash", { command: "ls" }),
    looks("none", {}),
  ]).toEqual([true, false, false, false]);
});

test("who waits for the end is told by the answer, everybody else by the news", async () => {
  const desk = deskWith(played(7), played(8));
  const first = await begin(desk);
  await begin(desk);
  const waiting = desk.use("bash_output", { id: first, wait: 60 });
  desk.programs[0]?.end({ code: 0, signal: null, exceeded: null });
  await waiting;
  desk.programs[1]?.end({ code: 1, signal: null, exceeded: null });
  await closeTools(desk.tools);
  const ends = desk.events.filter(({ type }) => type === "exited");
  expect(ends).toEqual([
    { type: "exited", pid: 7, code: 0, signal: null },
    { type: "exited", pid: 8, code: 1, signal: null, background: "bg-8" },
  ]);
});

test("four run at once; one that is stopped makes room, and an unknown one is named as such", async () => {
  const desk = deskWith(...[1, 2, 3, 4, 5].map(played));
  for (let i = 0; i < 4; i++) await begin(desk);
  expect(await desk.use("bash", { command: "serve", background: true })).toEqual({
    ok: false,
    content: "Not started: bg-1, bg-2, bg-3, bg-4 run already. End one with bash_output and stop: true.",
  });
  expect(await desk.use("bash_output", { id: "bg-2", stop: true })).toBe("It was ended.\n(no new output)");
  expect(await begin(desk)).toBe("bg-5");
  expect(await desk.use("bash_output", { id: "bg-9" })).toMatchObject({
    ok: false,
    content: expect.stringMatching(/^There is no background command "bg-9"/),
  });
});

test("of a flood of output the beginning and the end are kept", async () => {
  const desk = deskWith(played());
  const id = await begin(desk);
  for (let i = 0; i < 100; i++) desk.programs[0]?.say(`${i} ${"x".repeat(10_000)}\n`);
  const shown = String(await desk.use("bash_output", { id }));
  expect(shown.length).toBeLessThan(33_000);
  expect(shown).toMatch(/\n0 x+[\s\S]*… \d+ bytes left out here …\n[\s\S]*\n99 x+$/);
});

test("all of them end with the work of their owner", async () => {
  const desk = deskWith(played(1), played(2));
  await begin(desk);
  await begin(desk);
  await closeTools(desk.tools);
  expect(desk.events.filter(({ type }) => type === "exited").map(({ pid }) => pid)).toEqual([1, 2]);
});

describe.skipIf(skipped)(`in a real sandbox ${skipped}`, () => {
  test("it works beside other commands, and nothing of it is left when its owner's work or the process is stopped", async () => {
    const { box, file } = await inSandbox();
    const stop = new AbortController();
    const lives = [lifeOf(file("one")), lifeOf(file("two"))];
    const binds = () => ({ write: [file("")], read: [], hide: [], cwd: file("") });
    const ports = { sandbox: async () => box, binds, env: {} };
    for (const [i, name] of ["one", "two"].entries()) {
      const tools = shellTools(ports);
      const command = `exec 9>${name}; echo alive >&9; echo ready; sleep 1000 & wait`;
      await used(tools, "bash", { command, background: true }, stop.signal);
      await lives[i]?.begun;
      expect(await used(tools, "bash", { command: "echo beside" }, stop.signal)).toMatchObject({ content: "beside" });
      if (name === "one") await closeTools(tools);
      else stop.abort(new Error("stopped"));
      await lives[i]?.ended;
    }
  });
});

/** A program that says and does what a test wants. */
function played(pid = 7) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { promise: ended, resolve } = Promise.withResolvers<ProgramEnd>();
  const end = (how: ProgramEnd) => resolve(how);
  const running: RunningProgram = {
    ...{ pid, stdin: new PassThrough(), stdout, stderr, ended },
    stop: async () => end({ code: null, signal: "SIGKILL", exceeded: null }),
  };
  return { running, end, say: (text: string) => stdout.write(text) };
}

function deskWith(...programs: ReturnType<typeof played>[]) {
  const events: ProcessEvent[] = [];
  let next = 0;
  const sandbox: Sandbox = {
    kind: "bubblewrap",
    about: "for tests",
    selfTest: async () => ({ ok: true, detail: "" }),
    run: () => Promise.reject(new Error("no command is run here")),
    start: async () => programs[next++]?.running ?? Promise.reject(new Error("no such program")),
  };
  const ports: ShellPorts = {
    sandbox: async () => sandbox,
    binds: () => ({ write: [], read: [], hide: [], cwd: "/tmp" }),
    env: {},
    onProcess: (event) => events.push(event),
  };
  const tools = shellTools(ports);
  return { events, programs, tools, use: (name: string, args: object) => used(tools, name, args) };
}

async function begin(desk: ReturnType<typeof deskWith>): Promise<string> {
  const said = String(await desk.use("bash", { command: "serve", background: true }));
  const id = /^(bg-\d+) runs in the background\./.exec(said)?.[1];
  if (!id) throw new Error(said);
  return id;
}

function used(tools: readonly Tool[], name: string, args: object, until = signal) {
  const tool = tools.find(({ spec }) => spec.name === name);
  const parsed = tool?.parse(args);
  if (!tool || !parsed?.ok) throw new Error(parsed && "problem" in parsed ? parsed.problem : `no ${name}`);
  return tool.run(parsed.args, until);
}
