import { checkedCalls, missingCalls, modeCalls, refusedCalls } from "./system-calls.ts";

/**
 * A system call filter (seccomp) as a BPF program for the kernel, in the format that bubblewrap reads.
 *
 * SECCOMP-1. A call from another system call table (32 bits, x32) is never compared with ours: the process is killed,
 *     or for x32 the call fails as missing.
 * SECCOMP-2. Arguments are compared in the width in which the kernel reads them, so that high bits cannot disguise
 *     them.
 * SECCOMP-3. What the limits cannot see is refused: without a cgroup, memory that belongs to no process.
 * SECCOMP-4. No file gets a set-user-ID or set-group-ID bit: files of a command belong to us on disk, or to root if we
 *     are root, and anyone who can reach the folder could run them as us.
 *
 * Null on an architecture whose system call numbers we do not have.
 */
export function systemCallFilter(arch: string, { cgroup, outer }: FilterNeeds): Buffer | null {
  const machine = machines[arch];
  if (!machine) return null;
  const number = (numbers: readonly [number, number | null]) => numbers[machine.column] ?? null;
  const when = (numbers: readonly [number, number | null], then: Instruction[]) => {
    const call = number(numbers);
    return call === null ? [] : [jump(EQUAL, call, 0, then.length), ...then];
  };
  const program = [
    load(ARCH),
    jump(EQUAL, machine.audit, 1, 0),
    answer(KILL),
    load(NUMBER),
    ...(machine.column === 0 ? [jump(AT_LEAST, X32, 0, 1), refuse(ENOSYS)] : []),
    ...Object.values(refusedCalls).flatMap((numbers) => when(numbers, [refuse(EPERM)])),
    ...Object.values(missingCalls).flatMap((numbers) => when(numbers, [refuse(ENOSYS)])),
    ...when(checkedCalls.clone, refusedBits(0, NAMESPACES, EPERM)),
    ...when(checkedCalls.unshare, refusedBits(0, NAMESPACES | CLONE_NEWTIME, EPERM)),
    ...when(checkedCalls.ioctl, refusedValues(1, TERMINAL_REQUESTS, EPERM)),
    ...when(checkedCalls.socket, families),
    ...when(checkedCalls.socketpair, families),
    ...Object.values(modeCalls).flatMap(({ numbers, mode, flags }) => when(numbers, withoutSetId(mode, flags))),
    ...when(checkedCalls.personality, allowedValues(0, PERSONALITIES, EPERM)),
    ...(cgroup ? [] : when(checkedCalls.memfd_create, [refuse(ENOSYS)])),
    ...(cgroup ? [] : when(checkedCalls.shmget, smallSegments)),
    ...(outer ? [] : when(checkedCalls.prctl, keepsParentDeathSignal)),
    answer(ALLOW),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, yes, no, value }, index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}

interface FilterNeeds {
  /** Whether a cgroup counts all memory. */
  cgroup: boolean;
  /** Whether an outer pid namespace ends everything inside. */
  outer: boolean;
}

interface Instruction {
  code: number;
  /** How many instructions are skipped when the comparison holds, and when not. */
  yes: number;
  no: number;
  value: number;
}

const machines: Readonly<Record<string, { audit: number; column: 0 | 1 }>> = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
};

// linux/bpf_common.h
const [LOAD, ANSWER, EQUAL, GREATER, AT_LEAST, ANY_BIT] = [0x20, 0x06, 0x15, 0x25, 0x35, 0x45];
// struct seccomp_data
const [NUMBER, ARCH] = [0, 4];
const argument = (index: number) => 16 + 8 * index;
// linux/seccomp.h
const [KILL, ERRNO, ALLOW] = [0x80000000, 0x00050000, 0x7fff0000];
const [EPERM, ENOMEM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 12, 38, 93, 97];
const X32 = 0x40000000;

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
const NAMESPACES = 0x7e020000;
const CLONE_NEWTIME = 0x80;
// TIOCSTI and TIOCLINUX type into a terminal; TIOCSETD loads line disciplines.
const TERMINAL_REQUESTS = [0x5412, 0x541c, 0x5423];
// PER_LINUX, PER_LINUX32, both with UNAME26, without address randomisation (sanitizers), and the question which it is.
const PERSONALITIES = [0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff];
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, NETLINK_ROUTE] = [1, 2, 10, 16, 0];
// S_ISUID, S_ISGID
const SET_ID = 0o6000;
// O_CREAT and the bit of O_TMPFILE alone: without one of them the kernel ignores the mode, which may be anything.
const MAKES_FILE = 0o20000100;
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
/** There are at most 4,096 segments in a namespace: 256 MiB that no process shows. */
const MOST_SEGMENT_BYTES = 64 * 1024;

const load = (at: number): Instruction => ({ code: LOAD, yes: 0, no: 0, value: at });
const answer = (value: number): Instruction => ({ code: ANSWER, yes: 0, no: 0, value });
const refuse = (errno: number): Instruction => answer(ERRNO | errno);
const jump = (code: number, value: number, yes: number, no: number): Instruction => ({ code, yes, no, value });

const refusedBits = (index: number, bits: number, errno: number) => [
  load(argument(index)),
  jump(ANY_BIT, bits, 0, 1),
  refuse(errno),
  answer(ALLOW),
];

const withoutSetId = (mode: number, flags?: number) => [
  ...(flags === undefined ? [] : [load(argument(flags)), jump(ANY_BIT, MAKES_FILE, 1, 0), answer(ALLOW)]),
  ...refusedBits(mode, SET_ID, EPERM),
];

const refusedValues = (index: number, values: readonly number[], errno: number) => [
  load(argument(index)),
  ...values.flatMap((value) => [jump(EQUAL, value, 0, 1), refuse(errno)]),
  answer(ALLOW),
];

const allowedValues = (index: number, values: readonly number[], errno: number) => [
  load(argument(index)),
  ...values.flatMap((value) => [jump(EQUAL, value, 0, 1), answer(ALLOW)]),
  refuse(errno),
];

/** Local sockets, IP, and the kernel's answers about addresses and routes; no VSOCK, ALG, PACKET, KEY, BLUETOOTH, … */
const families = [
  load(argument(0)),
  ...[AF_UNIX, AF_INET, AF_INET6].flatMap((family) => [jump(EQUAL, family, 0, 1), answer(ALLOW)]),
  jump(EQUAL, AF_NETLINK, 1, 0),
  refuse(EAFNOSUPPORT),
  load(argument(2)),
  jump(EQUAL, NETLINK_ROUTE, 0, 1),
  answer(ALLOW),
  refuse(EPROTONOSUPPORT),
];

const smallSegments = [
  load(argument(1) + 4),
  jump(EQUAL, 0, 1, 0),
  refuse(ENOMEM),
  load(argument(1)),
  jump(GREATER, MOST_SEGMENT_BYTES, 0, 1),
  refuse(ENOMEM),
  answer(ALLOW),
];

/** The first process inside cannot take back its own, whatever is written into its memory. The call only seems to work. */
const keepsParentDeathSignal = [
  load(argument(0)),
  jump(EQUAL, PR_SET_PDEATHSIG, 1, 0),
  answer(ALLOW),
  load(argument(1)),
  jump(EQUAL, SIGKILL, 0, 1),
  answer(ALLOW),
  refuse(0),
];
