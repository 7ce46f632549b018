import { join } from "node:path";
import { expect, test } from "vitest";
import { createScrubber } from "../../boundary/scrubber.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { LoginBroker } from "../logins/login-broker.ts";
import { programPorts } from "./program-launch.ts";

test("a program may reach its own hosts, those that every command may reach, and its own address", async () => {
  await using me = await temporaryHome();
  const env = { HOME: me.path, PATH: process.env.PATH };
  const clock = manualClock();
  const logins = new LoginBroker({ home: me.path, env, clock, fetch });
  const reached: (readonly string[] | undefined)[] = [];
  const never = () => Promise.reject(new Error("not here"));
  const sandbox: Sandbox = {
    ...{ kind: "bubblewrap", about: "", run: never, selfTest: never },
    start: ({ network }) => {
      reached.push(network?.allow);
      return never();
    },
  };
  const config = { network: { allow: ["pypi.org", "localhost:8080"] } };
  const ports = { sandbox: async () => sandbox, price: never, clock, scrubber: createScrubber([]), logins };
  const programs = programPorts({ home: me.path, env, config }, ports);
  const set = { OPENAI_BASE_URL: "https://models.example" };
  const started = programs.start({
    profile: { kind: "acp", command: ["sh"], hosts: ["api.openai.com"], set },
    tools: new Toolbox([]),
    binds: { write: [], read: [], hide: [] },
    cwd: me.path,
    home: join(me.path, "worker"),
    launch: () => ({ argv: ["sh"], env: {} }),
    signal: new AbortController().signal,
  });
  await expect(started).rejects.toThrow("not here");
  expect(reached).toEqual([["api.openai.com", "pypi.org", "localhost:8080", "models.example:443"]]);
});
