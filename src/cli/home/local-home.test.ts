import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { Terminal } from "../terminal.ts";
import { LocalHome } from "./local-home.ts";

test("a home that was held and let go leaves nothing behind: a chat does that with every message", async () => {
  await using folder = await temporaryHome();
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const terminal = new Terminal(streams, {}, folder.path);
  const call = { terminal, home: folder.path, json: false, packageRoot: folder.path, command: "chat" };
  const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => process.listenerCount(signal));
  const before = listeners();

  const local = await LocalHome.open(call, { home: folder.path, env: {}, config: {} });
  expect(listeners()).toEqual(before.map((count) => count + 1));
  await local.close();

  expect(listeners()).toEqual(before);
});
