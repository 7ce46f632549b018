import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { MessageTooLong } from "../../mesh/files/new-message.ts";
import { NoTmux } from "../../mesh/terminal/tmux-server.ts";
import { HomeLockedError, TooManyFilesError } from "../../store/errors.ts";
import { Refusal, UsageError } from "../exit-code.ts";
import { Terminal } from "../terminal.ts";
import { reportFailure } from "./failure.ts";

async function reported(error: unknown, json: boolean, env: Record<string, string> = {}, columns?: number) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (columns !== undefined) Object.assign(stderr, { isTTY: true, columns });
  const exit = reportFailure(error, new Terminal({ stdin, stdout, stderr }, env, "/"), json);
  stdout.end();
  stderr.end();
  return { exit, stdout: await text(stdout), stderr: await text(stderr) };
}

test("what a person can fix is told in its own words", async () => {
  expect(await reported(new HomeLockedError("/home/x", 812), false)).toEqual({
    exit: 1,
    stdout: "",
    stderr: "✗ The home /home/x is in use by pid 812. Stop it, or choose another home with --home or AGIRAPH_HOME.\n",
  });
  expect(await reported(new UsageError("The goal is empty."), true)).toEqual({
    exit: 2,
    stdout: '{"error":{"code":"usage","message":"The goal is empty."}}\n',
    stderr: "✗ The goal is empty.\n",
  });
  expect((await reported(new Refusal("It is completed."), false)).exit).toBe(1);
});

test("at a terminal it is wrapped at words", async () => {
  const error = new HomeLockedError("/home/x", 812);
  expect((await reported(error, false, { NO_COLOR: "1" }, 40)).stderr).toBe(
    "✗ The home /home/x is in use by pid 812.\nStop it, or choose another home with\n--home or AGIRAPH_HOME.\n",
  );
  expect((await reported(new UsageError("A\nB"), false, {}, 40)).stderr).toBe("\u001b[31m✗\u001b[39m A\nB\n");
});

test("whatever part of the program says it", async () => {
  const errors = [new MessageTooLong("A."), new NoTmux("B."), new TooManyFilesError("/home/x", undefined)];
  const told = await Promise.all(errors.map((error) => reported(error, true)));
  expect(told.map(({ exit, stdout }) => [exit, JSON.parse(stdout)])).toEqual([
    [1, { error: { code: "too_large", message: "A." } }],
    [1, { error: { code: "no_tmux", message: "B." } }],
    [1, { error: { code: "too_many_files", message: errors[2]?.message } }],
  ]);
});

test("what nobody expected says so, and shows its stack only to those who ask for it", async () => {
  const error = new TypeError("x is not a function");
  expect(await reported(error, false)).toEqual({
    exit: 1,
    stdout: "",
    stderr: "✗ x is not a function. This was not expected; set AGIRAPH_DEBUG=1 to see where it came from.\n",
  });
  expect((await reported(error, false, { AGIRAPH_DEBUG: "1" })).stderr).toContain("failure.test.ts");
});
