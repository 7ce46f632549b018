import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { inSandbox, skipped } from "../../test/try-sandbox.ts";
import { openSandbox, type Sandbox, type ShellResult } from "../sandbox/index.ts";
import { type ProcessEvent, type ShellPorts, shellTool } from "./shell.ts";

const signal = new AbortController().signal;
const binds = () => ({ write: [], read: [], hide: [], cwd: "/tmp" });

/** A sandbox that runs nothing and answers as told; what it was asked is kept. */
function answering(answer: Partial<ShellResult>, kind: Sandbox["kind"] = "bubblewrap") {
  const asked: unknown[] = [];
  const whole = {
    code: 0,
    signal: null,
    output: "",
    truncated: false,
    timedOut: false,
    exceeded: null,
    ms: 1,
    ...answer,
  };
  const sandbox: Sandbox = {
    kind,
    about: "for tests",
    selfTest: async () => ({ ok: true, detail: "" }),
    async run({ signal: _, onStart, ...command }) {
      asked.push(command);
      onStart?.(42);
      return whole;
    },
    start: () => Promise.reject(new Error("no program is started here")),
  };
  return { sandbox, asked };
}

const bash = ({ sandbox, ...ports }: Partial<Omit<ShellPorts, "sandbox">> & { sandbox: Sandbox }, args: object) =>
  shellTool({ binds, env: {}, sandbox: async () => sandbox, ...ports }).run(args, signal);

describe("what the model is told", () => {
  test("what of the project commands do not see is told once, when it changes, and with a command that failed", async () => {
    const told: (readonly string[] | undefined)[] = [];
    let [omitted, code] = [["project/a is left out: it is too large."], 0];
    const tool = shellTool({
      sandbox: async () => answering({ code, output: "done" }).sandbox,
      binds: () => ({ ...binds(), omitted }),
      env: {},
      onProcess: (event) => event.type === "started" && told.push(event.omitted),
    });
    const said = async () => ((await tool.run({ command: "ls" }, signal)) as { content: string }).content;
    const note = (...words: string[]) =>
      `[Commands do not see all of the project. ${words.join(" ")} read_file and list_files show it.]`;

    expect([await said(), await said()]).toEqual([`done\n\n${note(...omitted)}`, "done"]);
    omitted = [...omitted, "project/b is left out: it is too large."];
    expect(await said()).toBe(`done\n\n${note(...omitted)}`);
    code = 1;
    expect(await said()).toBe(`Exit code 1.\ndone\n\n${note(...omitted)}`);
    expect(told).toEqual([[omitted[0]], undefined, omitted, undefined]);
  });

  test.each<[string, Partial<ShellResult>, object]>([
    ["the output", { output: "hi\n" }, { ok: true, content: "hi" }],
    ["that there was none", {}, { ok: true, content: "(no output)" }],
    ["the exit code when it is not 0", { code: 2, output: "no\n" }, { ok: false, content: "Exit code 2.\nno" }],
    [
      "that a copy is read-only as what it was copied from, where permission was denied",
      { code: 1, output: "bash: line 1: output/a.md: Permission denied\n" },
      {
        ok: false,
        content:
          "Exit code 1.\nbash: line 1: output/a.md: Permission denied\n(A copy of a published file or an input is read-only, as they are: chmod u+w makes the copy writable.)",
      },
    ],
    [
      "what a signal means",
      { code: 139 },
      { ok: false, content: "Exit code 139 (it crashed with a segmentation fault).\n(no output)" },
    ],
    [
      "that the time was over",
      { code: null, signal: "SIGKILL", timedOut: true, output: "half" },
      {
        ok: false,
        content:
          "Time-out: it was ended after 120 s, with all it had started. Give a longer timeout, or do less at once.\nhalf",
      },
    ],
    [
      "which bound it broke",
      { code: null, signal: "SIGKILL", exceeded: "memory" },
      {
        ok: false,
        content: "It was ended, because its processes together took more memory than a command may.\n(no output)",
      },
    ],
  ])("%s", async (_title, answer, told) => {
    expect(await bash(answering(answer), { command: "x" })).toEqual(told);
  });

  test("without a sandbox, at every result", async () => {
    expect(await bash(answering({ output: "hi" }, "unsafe"), { command: "x" })).toEqual({
      ok: true,
      content: "Ran without a sandbox (--unsafe-no-sandbox).\nhi",
    });
  });

  test("when there is none, that bash is refused and what to install", async () => {
    const none = await openSandbox({ platform: "linux", bwrap: "/nowhere" });
    const events: ProcessEvent[] = [];
    expect(await bash({ sandbox: none, onProcess: (event) => events.push(event) }, { command: "x" })).toEqual({
      ok: false,
      content: expect.stringMatching(/^bash is refused: bubblewrap is not installed.*apt install bubblewrap/),
    });
    expect(events).toEqual([]);
  });
});

test("the command goes to the sandbox with the binds of now, the environment, and its time", async () => {
  const { sandbox, asked } = answering({});
  let published = 0;
  const tool = shellTool({
    sandbox: async () => sandbox,
    binds: () => ({ ...binds(), read: [`/n${++published}`] }),
    env: { RUN: "/r" },
    network: { allow: ["a.test"] },
  });
  await tool.run({ command: "one" }, signal);
  await tool.run({ command: "two", timeout: 7 }, signal);
  const common = { cwd: "/tmp", env: { RUN: "/r" }, network: { allow: ["a.test"] } };
  expect(asked).toEqual([
    { ...common, command: "one", timeoutMs: 120_000, binds: { write: [], read: ["/n1"], hide: [] } },
    { ...common, command: "two", timeoutMs: 7_000, binds: { write: [], read: ["/n2"], hide: [] } },
  ]);
});

test("arguments: a command, and at most ten minutes", () => {
  const { parse } = shellTool({ sandbox: async () => answering({}).sandbox, binds, env: {} });
  expect(
    [{ command: "x", timeout: 600 }, { command: "x", timeout: 601 }, { command: "" }, {}].map((args) => parse(args).ok),
  ).toEqual([true, false, false, false]);
});

test("a process is reported when it starts and when it ends, with the first line of its command", async () => {
  const events: ProcessEvent[] = [];
  await bash(
    { ...answering({ code: 3 }), onProcess: (event) => events.push(event) },
    { command: `make ${"x".repeat(300)}\nmore` },
  );
  expect(events).toEqual([
    { type: "started", pid: 42, command: `make ${"x".repeat(194)}…`, sandbox: "bubblewrap" },
    { type: "exited", pid: 42, code: 3, signal: null },
  ]);
});

describe.skipIf(skipped)(`in a real sandbox ${skipped}`, () => {
  test("a command works on the files of its participant; a stop ends it and is told as an end of the process", async () => {
    const { box, file } = await inSandbox();
    await writeFile(file("in"), "3\n4\n");
    const events: ProcessEvent[] = [];
    const stop = new AbortController();
    const onProcess = (event: ProcessEvent) => events.push(event);
    const tool = shellTool({
      sandbox: async () => box,
      binds: () => ({ write: [file("")], read: [], hide: [], cwd: file("") }),
      env: { SCRATCH: file("") },
      onProcess,
    });
    expect(await tool.run({ command: "paste -sd+ $SCRATCH/in | bc || echo $((3+4))" }, stop.signal)).toEqual({
      ok: true,
      content: expect.stringMatching(/7$/),
    });
    const reason = new Error("stop");
    const running = tool.run({ command: "sleep 1000" }, stop.signal);
    queueMicrotask(() => queueMicrotask(() => stop.abort(reason)));
    await expect(running).rejects.toBe(reason);
    const pids = new Set(events.map(({ pid }) => pid));
    expect(events.filter(({ type }) => type === "started")).toHaveLength(pids.size);
    expect(events.filter(({ type }) => type === "exited")).toHaveLength(pids.size);
  });

  test("unsafe: it runs with our rights, in its folder, with the stripped environment, and its group is ended", async () => {
    const { box, file } = await inSandbox({ unsafe: true });
    const tool = shellTool({
      sandbox: async () => box,
      binds: () => ({ write: [file("")], read: [], hide: [], cwd: file("") }),
      env: { A: "b" },
    });
    expect(await tool.run({ command: "id -u; echo $A; env | grep -c HOME=; sleep 1000 & exit 5" }, signal)).toEqual({
      ok: false,
      content: `Exit code 5.\nRan without a sandbox (--unsafe-no-sandbox).\n${process.getuid?.()}\nb\n1`,
    });
    expect(await tool.run({ command: "sleep 1000 & echo begun; wait", timeout: 2 }, signal)).toEqual({
      ok: false,
      content: expect.stringMatching(/^Time-out: .*\nRan without.*\nbegun$/s),
    });
  });
});
