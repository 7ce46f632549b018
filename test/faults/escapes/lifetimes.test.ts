import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as after } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { skipped } from "../../try-sandbox.ts";
import { startAs, type User, users } from "./escapes.ts";
import { prelude } from "./kit.ts";

/**
 * Nothing that was started inside is alive when its command or program has ended, by whatever end, the death of the
 * server by SIGKILL included; and the call that started it returns. Each attack leaves a daemon behind that holds a pipe
 * open: while somebody holds it, its reader waits.
 */
const daemon = String.raw`
def daemon():
    signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    life = os.open("life", os.O_WRONLY)
    for fd in (0, 1, 2): os.close(fd)
    os.write(life, b"alive\n"); open("alive", "w").close()
    time.sleep(120); os._exit(0)
`;

/** Has the first process forget that it is to die with its parent, by a system call that is put into it. */
const disarm = String.raw`
def step(pid):
    """From its halt: prctl(PR_SET_PDEATHSIG, 0) in its place, then on as it was. x86-64 alone."""
    before = ctypes.create_string_buffer(27 * 8)
    syscall(101, None, 12, pid, 0, before)
    regs = list(struct.unpack("27Q", before.raw))
    regs[10], regs[14], regs[13], regs[15], regs[16] = 157, 1, 0, 2**64 - 1, regs[16] - 2
    syscall(101, None, 13, pid, 0, ctypes.create_string_buffer(struct.pack("27Q", *regs)))
    syscall(101, None, 9, pid, 0, 0); os.waitpid(pid, 0x40000000)
    syscall(101, None, 13, pid, 0, before)

def disarm(pid):
    syscall(101, 117, 16, pid, 0, 0); os.waitpid(pid, 0x40000000)
    try: step(pid)
    finally: syscall(101, 117, 17, pid, 0, 0)
`;

/** The same by its memory: code is put where it waits for its children, and an orphan that ends wakes it up. x86-64 alone. */
const rewrite = String.raw`
def rewrite():
    at = int(open("/proc/1/syscall").read().split()[-1], 16)
    # prctl(PR_SET_PDEATHSIG, 0), and pause for ever
    with open("/proc/1/mem", "r+b", buffering=0) as memory:
        memory.seek(at); memory.write(bytes.fromhex("b89d000000bf0100000031f60f05b8220000000f05ebf7"))
    if os.fork() == 0:
        os.fork(); os._exit(0)
    os.wait(); time.sleep(0.2)
`;

/** It goes on with its daemon whether or not the disarming worked: whoever is held leaves a daemon too. */
const attacks = {
  "a daemon whose first process was disarmed": "try: disarm(1)\nexcept OSError as error: print(error, flush=True)",
  "a daemon whose first process was rewritten": "try: rewrite()\nexcept OSError as error: print(error, flush=True)",
  "a daemon that has stopped the first process": "try: syscall(101, 117, 16, 1, 0, 0)\nexcept OSError: pass",
};

const endings = {
  itself: "ends by itself, or by its time where nobody hears of its end,",
  time: "runs out of time",
  stop: "is stopped",
  kill: "loses its server to SIGKILL",
};

const cases = Object.keys(attacks).flatMap((attack) =>
  (["command", "program"] as const).flatMap((as) =>
    (Object.keys(endings) as (keyof typeof endings)[])
      .filter((ending) => as === "command" || ending === "stop" || ending === "kill")
      .map((ending) => ({ attack: attack as keyof typeof attacks, as, ending, how: endings[ending] })),
  ),
);

describe.skipIf(skipped).each(users)(`$name ${skipped}`, (user) => {
  test.concurrent.for(cases)(
    "$attack of a $as that $how is gone",
    { timeout: 120_000 },
    async ({ attack, as, ending }, { onTestFinished }) => {
      const end = ending === "itself" ? 'while not os.path.exists("alive"): time.sleep(0.01)' : "time.sleep(100)";
      const script = `${prelude}${daemon}${disarm}${rewrite}\n${attacks[attack]}\ndaemon()\n${end}\n`;
      const run = await begin(user, as, ending, script);
      onTestFinished(run.clear);
      await run.begun;
      if (ending === "kill") process.kill(run.pid, "SIGKILL");
      const over = run.over.then(() => "all gone");
      expect(await Promise.race([over, after(patienceMs, "still alive", { ref: false })])).toBe("all gone");
    },
  );
});

/** Far more than the end takes: it is to fail where there is none, not where this machine is busy. */
const patienceMs = 20_000;

test.skipIf(skipped)("control: outside, who has disarmed a process makes it outlive its parent", async ({ skip }) => {
  if (process.arch !== "x64") skip("the disarming is written for x86-64");
  const program = `${prelude}${disarm}
reading, writing = os.pipe()
parent = os.fork()
if parent == 0:
    child = os.fork()
    if child == 0:
        libc.prctl(1, 9); os.write(writing, b"%d" % os.getpid()); time.sleep(30); os._exit(0)
    time.sleep(30)
child = int(os.read(reading, 20))
if len(sys.argv) > 1: disarm(child)
os.kill(parent, 9); os.waitpid(parent, 0); time.sleep(0.3)
print(open("/proc/%d/stat" % child).read().rsplit(")", 1)[1].split()[0] if os.path.exists("/proc/%d/stat" % child) else "gone")
try: os.kill(child, 9)
except OSError: pass`;
  const state = async (...args: string[]) => text(spawn("/usr/bin/python3", ["-c", program, ...args]).stdout);
  expect([await state(), await state("disarmed")]).toEqual([
    expect.stringMatching(/gone|[ZX]/),
    expect.stringMatching(/[SRD]/),
  ]);
});

async function begin(user: User, as: string, ending: string, script: string) {
  const child = startAs(user, "life-runner.ts", as, ending, script);
  const lines = createInterface({ input: child.stdout });
  const [first] = await once(lines, "line");
  const { pid, desk } = JSON.parse(first) as { pid: number; desk: string };
  const reader = spawn("cat", [join(desk, "life")], { stdio: ["ignore", "pipe", "inherit"] });
  const clear = () => {
    // The wrapper ends with the runner, and takes away what it has made.
    reader.kill("SIGKILL");
    for (const left of [pid, ...processesIn(desk)]) killIfThere(left);
    rmSync(desk, { recursive: true, force: true });
  };
  const settled = ending === "kill" ? Promise.resolve() : once(lines, "close");
  return { pid, clear, begun: once(reader.stdout, "data"), over: Promise.all([text(reader.stdout), settled]) };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone.
  }
}

/** Those that have a folder for their own, as an escaped daemon has. */
function processesIn(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/mountinfo`, "utf8").includes(` ${folder} `);
      } catch {
        return false;
      }
    })
    .map(Number);
}
