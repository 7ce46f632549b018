import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { skipped } from "../../try-sandbox.ts";
import { startAs, users } from "./escapes.ts";
import { prelude } from "./kit.ts";

/**
 * More than its share of what all on this machine have to share. Each script says "got it" when it has taken what it
 * wants and has kept it for a minute, so that a busy machine has time to notice; outside the sandbox each does, at once.
 */
const MB = 1024 ** 2;
const keeps = "time.sleep(0 if OUTSIDE else 60)";
const got = `${keeps}; print("got it", flush=True)`;

const bombs: Record<string, { limits: Record<string, number>; script: string }> = {
  "200 processes": {
    limits: { processes: 40 },
    script: `
for _ in range(200):
    if os.fork() == 0: ${keeps}; os._exit(0)
${got}`,
  },
  "memory, in one process": {
    limits: { memoryBytes: 100 * MB },
    script: `kept = b"x" * (300 << 20)\n${got}`,
  },
  "memory, over many processes": {
    limits: { memoryBytes: 100 * MB },
    script: `
for _ in range(6):
    if os.fork() == 0: kept = b"x" * (50 << 20); ${keeps}; os._exit(0)
${got}`,
  },
  "memory, in files that no process has mapped (memfd)": {
    limits: { memoryBytes: 100 * MB },
    script: `
kept = [os.memfd_create("x") for _ in range(15)]
for fd in kept: os.write(fd, b"x" * (20 << 20))
${got}`,
  },
  "memory, in shared segments that no process has mapped": {
    limits: { memoryBytes: 100 * MB },
    script: `
libc.shmat.restype = ctypes.c_void_p
made = [libc.shmget(0, 20 << 20, 0o1600) for _ in range(15)]
try:
    for segment in made:
        if segment < 0: raise MemoryError
        at = libc.shmat(segment, None, 0); ctypes.memset(ctypes.c_void_p(at), 1, 20 << 20); libc.shmdt(ctypes.c_void_p(at))
    ${got}
finally:
    for segment in made: libc.shmctl(segment, 0, None)`,
  },
  "memory, in files of /tmp and /dev/shm": {
    limits: { memoryBytes: 100 * MB, tmpBytes: 64 * MB },
    script: `
names = ["/tmp/kept-%d" % os.getpid(), "/dev/shm/kept-%d" % os.getpid()]
try:
    for name in names: open(name, "wb", buffering=0).write(b"x" * (60 << 20))
    ${got}
finally:
    for name in names: os.unlink(name)`,
  },
  "a file of 4 GiB without content": {
    limits: { fileBytes: MB },
    script: `fd = os.open("sparse", os.O_CREAT | os.O_RDWR); os.ftruncate(fd, 4 << 30); ${got}`,
  },
  "disk, reserved and not written": {
    limits: { diskBytes: 32 * MB },
    script: `
for number in range(20): os.posix_fallocate(os.open("file%d" % number, os.O_CREAT | os.O_RDWR), 0, 8 << 20)
${got}`,
  },
  "12,000 files": {
    limits: { files: 2_000 },
    script: `
for folder in range(12):
    os.mkdir("d%d" % folder)
    for number in range(1000): os.close(os.open("d%d/%d" % (folder, number), os.O_CREAT | os.O_WRONLY))
${got}`,
  },
};

const names = Object.keys(bombs);

interface Result {
  output: string;
  exceeded: string | null;
}

describe.skipIf(skipped).each(users)(`$name, a command does not get ${skipped}`, (user) => {
  let results: Result[] = [];
  beforeAll(async () => {
    const child = startAs(user, "bounded-runner.ts");
    const jobs = Object.values(bombs).map(({ limits, script }) => ({ limits, script: `${prelude}\n${script}` }));
    child.stdin.end(JSON.stringify(jobs));
    const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (!said) throw new Error(`The scripts were not run: ${complaint}`);
    results = JSON.parse(said);
  }, 200_000);

  test.each(names)("%s", (name) => {
    expect(results[names.indexOf(name)]?.output).toEqual(expect.not.stringMatching(/^got it$/m));
  });
});

describe.skipIf(skipped)("control: outside the sandbox a script gets", () => {
  const desk = mkdtempSync(join(tmpdir(), "agiraph-bounds-"));
  afterAll(() => rmSync(desk, { recursive: true, force: true }));

  test.concurrent.for(names)("%s", async (name, { expect }) => {
    const script = `${prelude}\n${bombs[name]?.script}`;
    const env = { ...process.env, OUTSIDE: "1" };
    const child = spawn("/usr/bin/python3", ["-c", script], { cwd: desk, env, stdio: ["ignore", "pipe", "inherit"] });
    expect(await text(child.stdout)).toBe("got it\n");
  });
});
