import { expect, test } from "vitest";
import type { CommandResult, Sandbox } from "../sandbox/index.ts";
import { machineOf } from "./machine.ts";

const OUTPUT = "Debian GNU/Linux 12\nPython 3.11.2 with numpy, pandas\nNode 24.1.0\ngit 2.39.5\n";
const result = (output: string): CommandResult => ({
  ...{ code: 0, signal: null, output, truncated: false, timedOut: false, exceeded: null, ms: 1 },
});

function aSandbox(run: Sandbox["run"], kind: Sandbox["kind"] = "bubblewrap"): Sandbox {
  const never = () => Promise.reject(new Error("not asked for"));
  return { kind, about: "", run, start: never, selfTest: never };
}

test("what is installed is asked once, in the sandbox, and told with the network there is", async () => {
  let asked = 0;
  const sandbox = aSandbox(async () => {
    asked += 1;
    return result(OUTPUT);
  });
  const known = {};
  const closed = machineOf(
    async () => sandbox,
    () => ({}),
    known,
  );
  const open = machineOf(
    async () => sandbox,
    () => ({ network: { allow: ["pypi.org"] } }),
    known,
  );
  const installed = "Debian GNU/Linux 12; Python 3.11.2 with numpy, pandas; Node 24.1.0; git 2.39.5.";
  expect(await closed.machine()).toEqual({
    loop: `Commands run in a sandbox (bash, no network): ${installed}`,
    program: `Installed: ${installed}`,
  });
  expect((await open.machine()).loop).toBe(`Commands run in a sandbox (bash, network: pypi.org): ${installed}`);
  expect(asked).toBe(1);
});

test("before it is known it is left out, and whoever closes does not leave the question running", async () => {
  const { promise: ended, resolve } = Promise.withResolvers<unknown>();
  const sandbox = aSandbox(
    ({ signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          resolve(signal.reason);
          reject(signal.reason);
        }),
      ),
  );
  const { machine, close } = machineOf(
    async () => sandbox,
    () => ({}),
    {},
  );
  expect(await machine()).toEqual({ loop: "", program: "" });
  expect(await Promise.race([machine(), new Promise((later) => setImmediate(later))])).toEqual({
    loop: "",
    program: "",
  });
  close();
  expect(await ended).toBeInstanceOf(Error);
});

test("where there is no sandbox it is said that commands do not run", async () => {
  const sandbox = aSandbox(() => Promise.reject(new Error("none")), "none");
  const { machine } = machineOf(
    async () => sandbox,
    () => ({}),
    {},
  );
  expect(await machine()).toEqual({ loop: "There is no sandbox here, so commands do not run.", program: "" });
});
