import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Sandbox, ShellResult } from "../../sandbox/index.ts";
import { MachineFile } from "../../store/home/machine-file.ts";
import { temporaryHome } from "../../testing/index.ts";
import { machineOf } from "./machine.ts";

const OUTPUT = "Debian GNU/Linux 12\nPython 3.11.2 with numpy, pandas\nNode 24.1.0\ngit 2.39.5\n";
const result = (output: string): ShellResult => ({
  ...{ code: 0, signal: null, output, truncated: false, timedOut: false, exceeded: null, ms: 1 },
});

function aSandbox(run: Sandbox["run"], kind: Sandbox["kind"] = "bubblewrap"): Sandbox {
  const never = () => Promise.reject(new Error("not asked for"));
  return { kind, about: "", run, start: never, selfTest: never };
}

/** Nothing is kept. */
const nowhere = { read: () => undefined, keep: () => {} };

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
    nowhere,
    known,
  );
  const open = machineOf(
    async () => sandbox,
    () => ({ network: { allow: ["pypi.org"] } }),
    nowhere,
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

test("the sandbox is asked with its test, and again only if that told nothing", async () => {
  let asked = 0;
  const tested = aSandbox(async () => {
    asked += 1;
    return result("Debian GNU/Linux 12\n");
  });
  const saying = async (words?: string) => {
    const { machine } = machineOf(
      async (question) => {
        if (words !== undefined) question?.answered(words);
        return tested;
      },
      () => ({}),
      nowhere,
      {},
    );
    return (await machine()).program;
  };
  const found = "Fedora 43\nPython 3.14.0\nv26.1.0\ngit version 2.52.0\n";
  expect(await saying(found)).toBe("Installed: Fedora 43; Python 3.14.0; Node 26.1.0; git 2.52.0.");
  expect(asked).toBe(0);
  for (const nothing of [undefined, "", "\n"]) expect(await saying(nothing)).toBe("Installed: Debian GNU/Linux 12.");
  expect(asked).toBe(3);
});

test("a home in which nothing is stored asks as soon as it is opened", async () => {
  const asked: string[] = [];
  const opened = (name: string, stored: ReturnType<typeof nowhere.read> | { kind: string; installed: string }) => {
    const box = aSandbox(async () => {
      asked.push(name);
      return result(OUTPUT);
    });
    machineOf(
      async () => box,
      () => ({}),
      { read: () => stored, keep: () => {} },
      {},
    ).prepare();
  };
  opened("stored", { kind: "bubblewrap", installed: "Debian GNU/Linux 12" });
  opened("new", undefined);
  await expect.poll(() => asked).toEqual(["new"]);
});

test("who begins while it is being found out waits for the answer", async () => {
  const answer = Promise.withResolvers<ShellResult>();
  const sandbox = aSandbox(() => answer.promise);
  const { machine } = machineOf(
    async () => sandbox,
    () => ({}),
    nowhere,
    {},
  );
  const all = Promise.all([machine(), machine()]);
  answer.resolve(result("Debian GNU/Linux 12\n"));
  expect((await all).map(({ program }) => program)).toEqual(Array(2).fill("Installed: Debian GNU/Linux 12."));
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
    nowhere,
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

test("what an earlier process found is told without waiting, and found out again for the next one", async () => {
  await using home = await temporaryHome();
  const kept = (path: string, about = "") => new MachineFile(home.path, path, about);
  const first = aSandbox(async () => result("Debian GNU/Linux 12\nPython 3.11.2\n"));
  const config = () => ({});
  const known: Parameters<typeof machineOf>[3] = {};
  const { machine } = machineOf(async () => first, config, kept("/usr/bin"), known);
  await machine();
  await known.asked;
  const updated = Promise.withResolvers<ShellResult>();
  const next: Parameters<typeof machineOf>[3] = {};
  const later = machineOf(async () => aSandbox(() => updated.promise), config, kept("/usr/bin"), next);
  expect((await later.machine()).program).toBe("Installed: Debian GNU/Linux 12; Python 3.11.2.");
  updated.resolve(result("Debian GNU/Linux 12\nPython 3.13.1\n"));
  await next.asked;
  expect((await later.machine()).program).toBe("Installed: Debian GNU/Linux 12; Python 3.13.1.");
  expect(kept("/usr/bin").read()?.installed).toBe("Debian GNU/Linux 12; Python 3.13.1");
  // By another PATH, or without the sandbox, other things are found.
  expect([kept("/opt/bin").read(), kept("/usr/bin", "unsafe").read()]).toEqual([undefined, undefined]);
  await writeFile(join(home.path, "machine.json"), "{");
  expect(kept("/usr/bin").read()).toBe(undefined);
});

test("where there is no sandbox it is said that commands do not run", async () => {
  const sandbox = aSandbox(() => Promise.reject(new Error("none")), "none");
  const { machine } = machineOf(
    async () => sandbox,
    () => ({}),
    nowhere,
    {},
  );
  expect(await machine()).toEqual({ loop: "There is no sandbox here, so commands do not run.", program: "" });
});
