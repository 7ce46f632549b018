import { describe, expect, test } from "vitest";
import { inSandbox, skipped } from "../../../test/try-sandbox.ts";
import { systemCallFilter } from "./seccomp.ts";
import { checkedCalls, missingCalls, modeCalls, refusedCalls } from "./system-calls.ts";

const column = process.arch === "arm64" ? 1 : 0;
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97];

/** Makes each call and prints its name with 0 or the error's number. */
const calling = (calls: readonly { name: string; words: readonly (number | string)[] }[]) =>
  `perl -e '${calls
    .map(
      ({ name, words }) =>
        `$! = 0; my $r = syscall(${words.join(", ")}); print "${name} ", $r < 0 ? $! + 0 : 0, "\\n";`,
    )
    .join(" ")}'`;

const lines = (output: string) =>
  Object.fromEntries(
    output
      .trim()
      .split("\n")
      .map((line) => line.split(" ")),
  );

describe.skipIf(skipped || !systemCallFilter(process.arch, { cgroup: true, outer: true }))(
  `system calls inside ${skipped}`,
  () => {
    test("that reach beyond a command are refused, each of them", async () => {
      const { run } = await inSandbox();
      const all = Object.entries({ ...refusedCalls, ...missingCalls }).flatMap(([name, numbers]) => {
        const number = numbers[column];
        return number === null ? [] : [{ name, words: [number, 0, 0, 0, 0, 0, 0] }];
      });
      const expected = all.map(({ name }) => [name, String(name in missingCalls ? ENOSYS : EPERM)]);
      expect(lines((await run(calling(all))).output)).toEqual(Object.fromEntries(expected));
    });

    test("that work outside are refused inside, by their arguments too", async () => {
      const call = (name: keyof typeof numbers, ...words: (number | string)[]) => ({
        name: `${name}(${words.join(",")})`.replaceAll(/[" $]/g, ""),
        words: [numbers[name][column], ...words],
      });
      const numbers = {
        ptrace: [101, 117],
        keyctl: [250, 219],
        kcmp: [312, 272],
        unshare: [272, 97],
        socket: [41, 198],
        personality: [135, 92],
      } as const;
      const calls = [
        call("keyctl", 0, -3, 0),
        call("kcmp", "$$+0", "$$+0", 1, 0, 0),
        call("personality", 0x0100000),
        call("personality", 0),
        call("unshare", 0x400),
        call("unshare", 0x10000000),
        call("socket", 1, 1, 0),
        call("socket", 2, 1, 0),
        call("socket", 16, 3, 0),
        call("socket", 16, 3, 15),
        call("socket", 17, 3, 0),
        call("socket", 38, 5, 0),
        call("socket", 40, 1, 0),
        call("ptrace", 0, 0, 0, 0),
      ];
      const { run } = await inSandbox();
      expect(lines((await run(calling(calls))).output)).toEqual({
        "keyctl(0,-3,0)": String(EPERM),
        "kcmp(+0,+0,1,0,0)": String(EPERM),
        "personality(1048576)": String(EPERM),
        "personality(0)": "0",
        "unshare(1024)": "0",
        "unshare(268435456)": String(EPERM),
        "socket(1,1,0)": "0",
        "socket(2,1,0)": "0",
        "socket(16,3,0)": "0",
        "socket(16,3,15)": String(EPROTONOSUPPORT),
        "socket(17,3,0)": String(EAFNOSUPPORT),
        "socket(38,5,0)": String(EAFNOSUPPORT),
        "socket(40,1,0)": String(EAFNOSUPPORT),
        "ptrace(0,0,0,0)": String(EPERM),
      });
      // The control: the calls as such are right.
      const { run: unconfined } = await inSandbox({ unsafe: true });
      const outside = lines((await unconfined(calling(calls))).output);
      expect([outside["ptrace(0,0,0,0)"], outside["keyctl(0,-3,0)"], outside["kcmp(+0,+0,1,0,0)"]]).toEqual([
        "0",
        "0",
        "0",
      ]);
    });

    test("under the numbers of another architecture are not let through", async () => {
      const { run } = await inSandbox();
      const x32 = calling([{ name: "getpid", words: [0x40000000 + 39] }]);
      if (process.arch === "x64") expect((await run(x32)).output).toBe(`getpid ${ENOSYS}\n`);
    });

    test("of ordinary programs work: threads, pipes, sockets, watching, locking, shared memory", async ({ skip }) => {
      const { run } = await inSandbox();
      const python = `
import threading, subprocess, socket, mmap, fcntl, tempfile, multiprocessing, os, sys
t = threading.Thread(target=lambda: None); t.start(); t.join()
assert subprocess.run(["true"]).returncode == 0
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
with tempfile.TemporaryFile() as f: fcntl.flock(f, fcntl.LOCK_EX)
m = mmap.mmap(-1, 4096); m[0] = 1
with multiprocessing.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]
print("fine")`;
      const { output } = await run(`test -x /usr/bin/python3 || exit 99; /usr/bin/python3 -c '${python}'`);
      if (output === "") skip("there is no /usr/bin/python3");
      expect(output).toBe("fine\n");
    });
  },
);

/** What the kernel would answer: it runs such a program the same way. */
function answerOf(program: Buffer, { number, arch, args = [] }: { number: number; arch: number; args?: bigint[] }) {
  const data = Buffer.alloc(64);
  data.writeInt32LE(number | 0, 0);
  data.writeUInt32LE(arch, 4);
  args.forEach((value, index) => void data.writeBigUInt64LE(value, 16 + 8 * index));
  let loaded = 0;
  for (let at = 0; ; at++) {
    const [code, value] = [program.readUInt16LE(at * 8), program.readUInt32LE(at * 8 + 4)];
    if (code === 0x06) return value.toString(16);
    if (code === 0x20) loaded = data.readUInt32LE(value);
    else {
      const holds = { 21: loaded === value, 37: loaded > value, 53: loaded >= value, 69: (loaded & value) !== 0 }[code];
      at += program[at * 8 + (holds ? 2 : 3)] ?? 0;
    }
  }
}

describe("the filter", () => {
  test.each([
    { name: "x64", audit: 0xc000003e, column: 0, other: 0x40000003 },
    { name: "arm64", audit: 0xc00000b7, column: 1, other: 0x40000028 },
  ] as const)(
    "on $name: kills calls of 32 bits, and high bits disguise no argument",
    ({ name, audit, column, other }) => {
      const program = systemCallFilter(name, { cgroup: false, outer: false }) as Buffer;
      const answer = (call: keyof typeof checkedCalls, ...args: bigint[]) =>
        answerOf(program, { number: checkedCalls[call][column], arch: audit, args });
      const high = 1n << 40n;
      const [allowed, killed, denied] = ["7fff0000", "80000000", (errno: number) => (0x50000 + errno).toString(16)];
      expect([
        answerOf(program, { number: 4, arch: other }),
        answerOf(program, { number: 0x40000000 + 101, arch: audit }),
        ...[answer("ioctl", 0n, 0x5412n | high), answer("ioctl", 0n, 0x5401n)],
        ...[answer("clone", 0x10000000n | high), answer("clone", 0x1200011n)],
        ...[answer("socket", 40n | high, 1n, 0n), answer("socket", 1n, 1n, 0n)],
        ...[answer("shmget", 0n, high | 1n, 0n), answer("shmget", 0n, 4096n, 0n)],
        ...[answer("prctl", 1n, 0n), answer("prctl", 1n, 9n), answer("prctl", 15n, 0n)],
        answer("memfd_create"),
      ]).toEqual([
        killed,
        column === 0 ? denied(ENOSYS) : allowed,
        ...[denied(EPERM), allowed],
        ...[denied(EPERM), allowed],
        ...[denied(EAFNOSUPPORT), allowed],
        ...[denied(12), allowed],
        ...[denied(0), allowed, allowed],
        denied(ENOSYS),
      ]);
    },
  );

  test.each([
    { name: "x64", audit: 0xc000003e, column: 0, ways: 11 },
    { name: "arm64", audit: 0xc00000b7, column: 1, ways: 6 },
  ] as const)("on $name: lets no call set a set-user-ID or set-group-ID bit", ({ name, audit, column, ways }) => {
    const program = systemCallFilter(name, { cgroup: true, outer: true }) as Buffer;
    const [allowed, denied, makes] = [
      "7fff0000",
      (0x50000 + EPERM).toString(16),
      { O_CREAT: 0o101n, O_TMPFILE: 0o20200001n },
    ];
    const calls = Object.values(modeCalls).filter(({ numbers }) => numbers[column] !== null);
    expect(calls).toHaveLength(ways);
    for (const { numbers, mode, flags } of calls) {
      const answer = (bits: bigint, how: bigint) => {
        const args = [0n, 0n, 0n, 0n];
        args[mode] = bits | (1n << 40n);
        if (flags !== undefined) args[flags] = how;
        return answerOf(program, { number: numbers[column] as number, arch: audit, args });
      };
      for (const how of Object.values(makes))
        expect([0o4755n, 0o2755n, 0o106000n, 0o1777n].map((bits) => answer(bits, how))).toEqual([
          denied,
          denied,
          denied,
          allowed,
        ]);
      // Where no file is made, the argument is whatever was in the register.
      expect(answer(0o6000n, 0n)).toBe(flags === undefined ? denied : allowed);
    }
  });

  test("is a program for the kernel on both architectures, and none where the numbers are unknown", () => {
    const needs = { cgroup: false, outer: false };
    const sizes = ["x64", "arm64", "riscv64"].map((arch) => systemCallFilter(arch, needs)?.length ?? null);
    expect(sizes).toEqual([expect.any(Number), expect.any(Number), null]);
    // Every way through it ends in an answer: no jump leads beyond the last instruction.
    for (const arch of ["x64", "arm64"]) {
      const program = systemCallFilter(arch, needs) as Buffer;
      const count = program.length / 8;
      for (let at = 0; at < count; at++) {
        const [code, yes, no] = [program.readUInt16LE(at * 8), program[at * 8 + 2] ?? 0, program[at * 8 + 3] ?? 0];
        if (code !== 0x06) expect(at + 1 + Math.max(yes, no)).toBeLessThan(count);
      }
      expect(program.readUInt16LE((count - 1) * 8)).toBe(0x06);
    }
  });
});
