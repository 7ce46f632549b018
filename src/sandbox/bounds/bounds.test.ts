import { execFile } from "node:child_process";
import { chmod, readdir, readFile, stat, statfs } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { inSandbox, sandbox, skipped, whole } from "../../../test/try-sandbox.ts";
import type { SandboxOptions } from "../open-sandbox.ts";
import { cgroupBases, openCgroups } from "./cgroups.ts";

const MB = 1024 ** 2;
const cgroups = skipped ? null : await openCgroups();

/** Takes memory that belongs to no process: memfds that are written and never mapped. */
const memfds = (megabytes: number) =>
  `perl -e '${String.raw`my $name = "x"; my $chunk = "a" x 1048576; for (1 .. ${megabytes}) {
    my $fd = syscall(${process.arch === "arm64" ? 279 : 319}, $name, 0);
    if ($fd < 0) { print "memfd: $!\n"; exit 3 }
    open(my $file, ">&=", $fd); push @all, $file; syswrite $file, $chunk;
  } print "held\n"; sleep 1000`}'`;

const inTmp = `for d in /tmp /dev/shm; do head -c ${70 * MB} /dev/zero > $d/x; done; echo held; sleep 1000`;

const pipes = String.raw`perl -e 'use Socket; my $chunk = "a" x 100000; for (1 .. 400) {
    socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or last; $a->blocking(0); push @all, $a, $b; syswrite $a, $chunk for 1 .. 9;
  } print "held\n"; sleep 1000'`;

describe.skipIf(skipped || !cgroups)(`memory of no process, bounded by a cgroup ${skipped}`, () => {
  test.each([
    ["memfds", memfds(140)],
    ["files in /tmp and /dev/shm", inTmp],
    ["buffers of sockets", pipes],
  ])("%s", async (_, command) => {
    const { run } = await inSandbox({ limits: { memoryBytes: 48 * MB } });
    const { exceeded, code } = await run(command);
    expect([exceeded, code]).toEqual(["memory", null]);
  });

  test("the kernel's kill ends only the command, and says why, also when the shell goes on", async () => {
    const { run, start } = await inSandbox({ limits: { memoryBytes: 48 * MB } });
    const other = await start("read -r line; echo $line");
    const hungry = await run(`perl -e 'my $x = "a" x ${100 * MB}'; echo went on`);
    expect([hungry.exceeded, hungry.code]).toEqual(["memory", null]);
    other.stdin.end("still here\n");
    expect(await whole(other)).toEqual({ out: "still here\n", err: "", code: 0, signal: null, exceeded: null });
  });

  test("a cgroup is used again for the next command", async () => {
    const { run } = await inSandbox();
    await Promise.all(Array.from({ length: 12 }, () => run("true")));
    for (let i = 0; i < 5; i++) await run("true");
    expect((await cgroupsOf(process.pid)).length).toBeLessThan(40);
  });

  test("what a killed server left behind is removed by the next one", async () => {
    const one = (end: string) => `import { openSandbox } from ${JSON.stringify(room)};
      const s = await openSandbox(); console.log(process.pid, s.kind); ${end}`;
    const run = (end: string) => promisify(execFile)(process.execPath, ["--input-type=module", "-e", one(end)]);
    const killed = await run('process.kill(process.pid, "SIGKILL")').catch((error: { stdout: string }) => error);
    const left = Number.parseInt(killed.stdout, 10);
    expect((await cgroupsOf(left)).length).toBeGreaterThan(0);
    await run("");
    expect(await cgroupsOf(left)).toEqual([]);
  });

  test("those that it had before a restart in place are removed too, although its pid is the same", async () => {
    const script = `import { openCgroups } from ${JSON.stringify(cgroupFile)};
      await openCgroups();
      if (process.env.AGAIN) { console.log(process.pid); process.kill(process.pid, "SIGKILL"); }
      process.execve(process.execPath, [process.execPath, ...process.execArgv], { ...process.env, AGAIN: "1" });`;
    const words = ["--no-warnings", "--input-type=module", "-e", script];
    const killed = await promisify(execFile)(process.execPath, words).catch((error: { stdout: string }) => error);
    const names = await cgroupsOf(Number.parseInt(killed.stdout, 10));
    // One of v1 has a folder for each controller, by the same name.
    expect(new Set(names).size).toBe(1);
  });
});

async function cgroupsOf(pid: number): Promise<string[]> {
  const bases = cgroupBases(
    await readFile("/proc/self/cgroup", "utf8"),
    await readFile("/proc/self/mountinfo", "utf8"),
  );
  const names = await Promise.all((bases ?? []).map(({ base }) => readdir(base)));
  return names.flat().filter((name) => name.startsWith(`agiraph-${pid}-`));
}

describe.skipIf(skipped)(`memory of no process, without a cgroup ${skipped}`, () => {
  const options: SandboxOptions = { limits: { memoryBytes: 48 * MB }, without: { cgroups: true } };

  test("memfds are not to be had: no process shows them", async () => {
    const { run } = await inSandbox(options);
    expect((await run(memfds(140))).output).toBe("memfd: Function not implemented\n");
  });

  test("files in /tmp and /dev/shm count", async () => {
    const { run } = await inSandbox(options);
    const { exceeded } = await run(inTmp);
    expect(exceeded).toBe("memory");
  });

  test("so do files without content, by the thousand", async () => {
    const { run } = await inSandbox(options);
    const { exceeded } = await run(
      `perl -e 'for (1 .. 60_000) { open(my $f, ">", "/tmp/$_") or last } print "made\\n"; sleep 1000'`,
    );
    expect(exceeded).toBe("memory");
  });

  test("segments of shared memory are small", async () => {
    const { run } = await inSandbox(options);
    const number = process.arch === "arm64" ? 194 : 29;
    const segment = (bytes: number) =>
      `perl -e 'print syscall(${number}, 0, ${bytes}, 0777 | 01000) < 0 ? "$!\\n" : "made\\n"'`;
    expect((await run(`${segment(4096)}; ${segment(MB)}`)).output).toBe("made\nCannot allocate memory\n");
  });
});

describe.skipIf(skipped)(`what a command leaves on the disk ${skipped}`, () => {
  test("is bounded in the number of files", async ({ skip }) => {
    const { run, root } = await inSandbox({ limits: { files: 1_000 } });
    if ((await statfs(root)).files === 0) skip("this file system does not count files");
    const { exceeded } = await run(`perl -e 'for (1 .. 9_000) { open(my $f, ">", "f$_") or last } sleep 1000'`);
    expect(exceeded).toBe("files");
  });

  test("leaves room for the files of others", async () => {
    const { run } = await inSandbox({ limits: { freeFiles: Number.MAX_SAFE_INTEGER } });
    expect((await run("echo fine")).output).toBe("fine\n");
  });

  test("counts at any depth: a tree whose path no call takes hides nothing", async () => {
    const { run, file } = await inSandbox({ limits: { diskBytes: 8 * MB } });
    const deep = `perl -e 'for (1 .. 700) { mkdir "folder"; chdir "folder" } for (1 .. 20) { open(my $f, ">", "f$_"); syswrite $f, "a" x 1048576 } sleep 1000'`;
    const { exceeded } = await run(deep);
    expect(exceeded).toBe("disk");
    expect((await stat(file("folder"))).isDirectory()).toBe(true);
    await promisify(execFile)("rm", ["-rf", file("folder")]);
  });

  test("counts what is closed to us by what disappeared from the disk", async () => {
    const { root } = await inSandbox();
    const uid = process.getuid?.() === 0 ? 60641 : process.getuid?.();
    await chmod(root, 0o777);
    const script = `import { DiskWatch } from ${JSON.stringify(diskUse)}; import { mkdirSync, chmodSync, writeFileSync } from "node:fs";
      const folder = ${JSON.stringify(`${root}/theirs`)}; mkdirSync(folder + "/closed", { recursive: true });
      const limits = { diskBytes: ${8 * MB}, files: 1e9, freeDiskBytes: 0, freeFiles: 0 };
      const watch = new DiskWatch({ write: [folder] }, limits);
      const before = await watch.isOver();
      writeFileSync(folder + "/closed/big", Buffer.alloc(${40 * MB}, "a"), { flush: true });
      chmodSync(folder + "/closed", 0);
      console.log(before, await watch.isOver());
      chmodSync(folder + "/closed", 0o700);`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { uid });
    expect(stdout).toBe("null disk\n");
  });
});

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));
const cgroupFile = fileURLToPath(new URL("./cgroups.ts", import.meta.url));
const diskUse = fileURLToPath(new URL("./disk-use.ts", import.meta.url));

test("cgroups are found where the kernel says they are", () => {
  expect(cgroupBases("0::/nowhere\n", "30 25 0:26 / /nowhere rw - cgroup2 cgroup rw\n")).toBeNull();
  expect(cgroupBases("", "")).toBeNull();
  expect(sandbox.about.includes("memory limited by cgroups")).toBe(cgroups !== null);
});
