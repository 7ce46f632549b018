import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { canTamper, tamperWithFirst } from "../../../test/attack-first-process.ts";
import { daemon, deafDaemon, inSandbox, lifeOf, skipped } from "../../../test/try-sandbox.ts";
import type { SandboxOptions } from "../open-sandbox.ts";

const killed = { code: null, signal: "SIGKILL", exceeded: null };

const ways: { machine: string; options: SandboxOptions }[] = [
  { machine: "this machine", options: {} },
  { machine: "a machine without nested namespaces", options: { without: { outerNamespace: true } } },
];

describe.skipIf(skipped || !canTamper).each(ways)(`a tampered sandbox on $machine ${skipped}`, ({ options }) => {
  test("is ended by the time-out, with all that runs inside", async () => {
    const { run, file } = await inSandbox(options);
    const life = lifeOf(file("life"));
    const result = await run(`exec 9>life; ${tamperWithFirst}; ${daemon}; sleep 1000`, { timeoutMs: 2000 });
    expect([result.output, result.timedOut, await life.ended]).toEqual(["tampered\n", true, "alive\n"]);
  });

  test("is ended by a stop, which gets its answer", async () => {
    const { run, file } = await inSandbox(options);
    const stop = new AbortController();
    const life = lifeOf(file("life"));
    const reason = new Error("stopped by the human");
    const running = run(`exec 9>life; ${tamperWithFirst}; ${daemon}; sleep 1000`, { signal: stop.signal });
    life.begun.then(() => stop.abort(reason));
    await expect(running).rejects.toBe(reason);
    expect(await life.ended).toBe("alive\n");
  });

  test("is ended by the grace of a program that is stopped", async () => {
    const { start, file } = await inSandbox(options);
    const life = lifeOf(file("life"));
    const running = await start(`exec 9>life; ${tamperWithFirst}; ${deafDaemon}; trap '' TERM; sleep 1000`);
    await life.begun;
    await running.stop(50);
    expect([await running.ended, await life.ended]).toEqual([killed, "alive\n"]);
  });

  test.each([
    { how: "run", uid: process.getuid?.() ?? 0 },
    { how: "start", uid: process.getuid?.() ?? 0 },
    { how: "start", uid: 60641 },
  ])("is ended when we are killed: $how as uid $uid", async ({ how, uid }) => {
    if (process.getuid?.() !== 0 && process.getuid?.() !== uid) return;
    const { root, file } = await inSandbox(options);
    await chmod(root, 0o711);
    await chown(file(""), uid, uid);
    const life = lifeOf(file("life"));
    const folder = JSON.stringify(file(""));
    const command = JSON.stringify(`exec 9>life; ${tamperWithFirst}; ${deafDaemon}; sleep 1000`);
    const what =
      how === "run"
        ? `command: ${command}, env: {}, timeoutMs: 1e6`
        : `launch: () => ({ argv: ["bash", "-c", ${command}], env: {} })`;
    const script = `import { openSandbox } from ${JSON.stringify(room)}; const s = await openSandbox(${JSON.stringify(options)});
      s.${how}({ ${what}, cwd: ${folder}, binds: { write: [${folder}], read: [], hide: [] }, signal: new AbortController().signal })`;
    const us = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "inherit", "inherit"],
      ...(uid === process.getuid?.() ? {} : { uid, gid: uid, cwd: "/", env: { PATH: "/usr/bin:/bin" } }),
    });
    onTestFinished(() => void us.kill("SIGKILL"));
    await life.begun;
    us.kill("SIGKILL");
    await once(us, "exit");
    expect(await life.ended).toBe("alive\n");
  });
});

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));
