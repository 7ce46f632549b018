import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { inSandbox, sandbox, skipped } from "../../../test/try-sandbox.ts";
import { openSandbox } from "../open-sandbox.ts";
import { proveSandbox } from "../self-test.ts";

describe.skipIf(skipped)(`a confined command ${skipped}`, () => {
  test("writes its folder, says both its streams in order, and gives its exit code", async () => {
    const { run, file } = await inSandbox();
    const result = await run("echo one; echo two >&2; echo three > /dev/stderr; echo made > made; exit 3");
    expect({ ...result, ms: 0 }).toEqual({
      code: 3,
      signal: null,
      output: "one\ntwo\nthree\n",
      truncated: false,
      timedOut: false,
      exceeded: null,
      ms: 0,
    });
    expect(await readFile(file("made"), "utf8")).toBe("made\n");
  });

  test("works in folders that only we may enter, and what it makes is ours", async () => {
    const { run, root, file } = await inSandbox();
    await writeFile(file("old"), "old", { mode: 0o600 });
    await mkdir(`${root}/shared`, { mode: 0o700 });
    await writeFile(`${root}/shared/ref`, "ref", { mode: 0o600 });
    await chmod(root, 0o700);
    const { output } = await run(
      `cat old ${root}/shared/ref; echo more >> old; mkdir -m 700 deep; echo new > deep/new; chmod 600 deep/new`,
      {
        read: [`${root}/shared`],
      },
    );
    expect(output).toBe("oldref");
    expect(await readFile(file("old"), "utf8")).toBe("oldmore\n");
    expect(await readFile(file("deep/new"), "utf8")).toBe("new\n");
    expect([(await stat(file("old"))).uid, (await stat(file("deep/new"))).uid]).toEqual([
      process.getuid?.(),
      process.getuid?.(),
    ]);
  });

  test("reads what it may read and cannot change it, even where it lies in a folder it may write", async () => {
    const { run, file } = await inSandbox();
    await mkdir(file("published"));
    await writeFile(file("published/report"), "done");
    const { output } = await run("cat published/report; echo x >> published/report; rm -rf published; mv published p", {
      read: [file("published")],
    });
    expect(output).toMatch(/^done.*Read-only file system/s);
    expect(await readFile(file("published/report"), "utf8")).toBe("done");
  });

  test("does not see what is hidden, and sees what is bound inside the hidden", async () => {
    const { run, root } = await inSandbox();
    await mkdir(`${root}/project/home/mine`, { recursive: true });
    for (const name of [".env", "home/canary", "home/mine/note"])
      await writeFile(`${root}/project/${name}`, `content of ${name}\n`);
    const { output } = await run(`cd ${root}/project; cat .env home/canary home/mine/note; ls home; echo x > home/x`, {
      read: [`${root}/project`, `${root}/project/home/mine`],
      hide: [`${root}/project/.env`, `${root}/project/home`],
    });
    expect(output).toMatch(/home\/canary: No such file.*\ncontent of home\/mine\/note\nmine\n.*Read-only file system/s);
    expect(output).not.toMatch(/content of (.env|home\/canary)/);
  });

  test("finds no file outside of its folders, by no way", async () => {
    const { run, root, file } = await inSandbox();
    await writeFile(`${root}/canary`, "tweet", { mode: 0o644 });
    await symlink(`${root}/canary`, file("link"));
    const ways = [
      `cat ${root}/canary`,
      "cat ../canary",
      "cat link",
      `cat /proc/1/root${root}/canary`,
      `ln ${root}/canary hard`,
      "cat /etc/shadow",
    ];
    const { output } = await run(
      `${ways.join("; ")}; ls -A ${root} /home /root /var 2>&1; cat /proc/*/environ | tr '\\0' '\\n' | grep -c AGIRAPH_TEST`,
    );
    expect(output).not.toMatch(/tweet|root:/);
    expect(output).toContain(`${root}:\ndesk\n`);
    expect(output.trimEnd().split("\n").at(-1)).toBe("0");
  });

  test("gets the environment it is given, and nothing of ours", async () => {
    const { run } = await inSandbox();
    const { output } = await run("env | sort | grep -v '^_='", { env: { SCRATCH: "/s", PATH: "/usr/bin:/bin" } });
    expect(output.replace(/^PWD=.*\n/m, "")).toBe(
      "HOME=/tmp\nLANG=C.UTF-8\nPATH=/usr/bin:/bin\nSCRATCH=/s\nSHLVL=1\nTERM=dumb\n",
    );
  });

  test("has no rights over the machine: no kernel settings, no capabilities, no further namespaces, nothing of the system", async () => {
    const { run } = await inSandbox();
    const { output } = await run(
      "for f in /proc/sys/kernel/printk /etc/x /usr/x /x /dev/x; do (echo 1 > $f) 2>&- && echo wrote $f; done; unshare -U true 2>&- && echo unshared; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; ls /proc | grep -c '^[0-9]'; hostname; test -w /sys && echo sys",
    );
    expect(output).toMatch(/^CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\n\d\nsandbox\n$/);
  });

  test.skipIf(process.getuid?.() !== 0)("is not root for the kernel, although we are", async () => {
    const { run, file } = await inSandbox();
    execFileSync("mkfifo", ["-m", "666", file("up"), file("go")]);
    let pid = 0;
    const running = run("echo > up; read < go", { onStart: (started) => (pid = started) });
    await promisify(execFile)("cat", [file("up")]);
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
    const uids = await Promise.all(
      [pid, ...children.trim().split(" ")].map(
        async (each) => /^Uid:.*/m.exec(await readFile(`/proc/${each}/status`, "utf8"))?.[0],
      ),
    );
    await promisify(execFile)("sh", ["-c", `echo > ${file("go")}`]);
    await running;
    expect(new Set(uids)).toEqual(new Set(["Uid:\t60640\t60640\t60640\t60640"]));
  });

  test("inherits no descriptor that we inherited", async () => {
    const { root, file } = await inSandbox();
    await writeFile(`${root}/canary`, "tweet");
    const script = `import { openSandbox } from ${JSON.stringify(room)}; const s = await openSandbox();
      const r = await s.run({ command: "ls /dev/fd; cat <&77", cwd: ${JSON.stringify(file(""))}, binds: { write: [${JSON.stringify(file(""))}], read: [], hide: [] }, env: {}, timeoutMs: 9e3, signal: AbortSignal.timeout(9e3) });
      console.log(r.output)`;
    // Node itself closes the low ones.
    const output = execFileSync(
      "bash",
      ["-c", 'exec 77<"$1"; exec "$2" --input-type=module -e "$3"', "bash", `${root}/canary`, process.execPath, script],
      { encoding: "utf8" },
    );
    expect(output).toMatch(/^0\n1\n2\n3\n/);
    expect(output).toContain("77: Bad file descriptor");
  });

  test("reaches no network, not even this machine", async () => {
    const { run } = await inSandbox();
    const server = createServer((socket) => socket.end("hello"));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const { output } = await run(`exec 9<>/dev/tcp/127.0.0.1/${port} && cat <&9; tail -n +3 /proc/net/dev`);
    server.close();
    expect(output).toMatch(/Connection refused/);
    expect(output).not.toMatch(/hello|eth|enp/);
  });

  test("is refused outside of its folders, and when it is too long for the kernel", async () => {
    const { run } = await inSandbox();
    await expect(run("true", { cwd: "/var" })).rejects.toThrow("The working folder /var is outside");
    await expect(run("x".repeat(200_000))).rejects.toThrow("more than 100000 bytes");
  });

  test("works for a user who is not root", async ({ skip }) => {
    if (process.getuid?.() !== 0) return;
    const { root } = await inSandbox();
    await mkdir(`${root}/theirs`);
    execFileSync("chown", ["60641:60641", `${root}/theirs`]);
    await chmod(root, 0o711);
    const script = `import { openSandbox } from ${JSON.stringify(room)}; const s = await openSandbox(); const dir = ${JSON.stringify(`${root}/theirs`)};
      const r = await s.run({ command: "id -u; echo x > made; echo 1 > /proc/sys/kernel/printk; cat ${root}/desk/a", cwd: dir, binds: { write: [dir], read: [], hide: [] }, env: {}, timeoutMs: 9e3, signal: AbortSignal.timeout(9e3) });
      console.log(s.kind, r.code, r.output)`;
    const args = [
      "--reuid=60641",
      "--regid=60641",
      "--clear-groups",
      process.execPath,
      "--input-type=module",
      "-e",
      script,
    ];
    const child = spawn("setpriv", args, { cwd: "/", env: { PATH: "/usr/bin:/bin" } });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
    await new Promise((closed) => child.on("close", closed));
    if (/EACCES|Cannot find module/.test(said)) skip("the repository cannot be read by another user");
    expect(said).toMatch(/^bubblewrap 1 60641\n.*Read-only file system\n.*No such file/s);
    expect(await readFile(`${root}/theirs/made`, "utf8")).toBe("x\n");
  });
});

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));

describe("before a sandbox is used it is tried", () => {
  test("one that confines passes, if this machine has one", async () => {
    expect(await sandbox.selfTest()).toEqual(
      sandbox.kind === "none" ? { ok: false, reason: sandbox.about } : { ok: true, detail: expect.any(String) },
    );
  });

  test("one that does not confine fails", async () => {
    expect(await proveSandbox(await openSandbox({ unsafe: true }))).toEqual({
      ok: false,
      reason: "a file outside of its folders could be read.",
    });
  });

  test.skipIf(skipped)(
    `with its test it answers a question, whose words do not count as results ${skipped}`,
    async () => {
      const says = (question: string) => proveSandbox(sandbox, { question, seconds: 1 });
      const ok = { ok: true, detail: expect.any(String) };
      expect(await says("echo one; echo two >&2; exit 3")).toEqual({ ...ok, answer: "one\ntwo\n" });
      expect(await says("echo leaks; echo unshared; echo that was the test; printf end")).toEqual({
        ...ok,
        answer: "leaks\nunshared\n",
      });
      expect(await says("echo begun; sleep 1000")).toEqual({ ...ok, answer: "begun\n" });
    },
  );

  test.skipIf(skipped)(`where not everything is there, it is asked what is ${skipped}`, async () => {
    // Not in /tmp, which is another one by the time it is started.
    const folder = await mkdtemp("/var/tmp/agiraph-bwrap-");
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await chmod(folder, 0o777);
    const old = join(folder, "bwrap");
    const fails = "[ -e tried ] || { : > tried; echo bwrap: Unknown option --disable-userns >&2; exit 1; }";
    await writeFile(old, `#!/bin/sh\ncd ${folder} && ${fails}\nexec /usr/bin/bwrap "$@"\n`, { mode: 0o755 });
    const { kind, about } = await openSandbox({ bwrap: old });
    expect([kind, about, existsSync(join(folder, "tried"))]).toEqual([
      "bubblewrap",
      expect.stringContaining(old),
      true,
    ]);
  });

  test("one that cannot start is none, and says why and what to do", async () => {
    const broken = await openSandbox({ platform: "linux", bwrap: "/bin/false" });
    expect([broken.kind, broken.about]).toEqual([
      "none",
      expect.stringMatching(/does not work here: .* failed .*--unsafe-no-sandbox/),
    ]);
  });

  test("without bubblewrap there is none, and every command is refused with what to install", async () => {
    const none = await openSandbox({ platform: "linux", bwrap: "/nowhere/bwrap" });
    expect(none.kind).toBe("none");
    await expect(
      none.run({
        command: "true",
        cwd: "/",
        binds: { write: [], read: [], hide: [] },
        env: {},
        timeoutMs: 1,
        signal: AbortSignal.timeout(1),
      }),
    ).rejects.toThrow("apt install bubblewrap");
  });
});
