import type { Attack } from "./attack.ts";
import { testEscapes } from "./escapes.ts";

/** Power over processes that are not its own: above all the first one inside, whose death ends all the others. */
const attacks: Attack[] = [
  {
    name: "traces the first process (PTRACE_ATTACH)",
    code: `syscall(101, 117, 16, victim(), 0, 0); escaped()`,
  },
  {
    name: "traces the first process (PTRACE_SEIZE)",
    code: `syscall(101, 117, 0x4206, victim(), 0, 0); escaped()`,
  },
  {
    name: "traces the first process by the x32 call, past a filter of numbers",
    code: `syscall(101 | 0x40000000, None, 16, victim(), 0, 0); escaped()`,
    // Few kernels have x32 at all: the control is that the same call by its own number works.
    control: { code: `syscall(101, 117, 16, victim(), 0, 0); escaped()` },
  },
  {
    name: "traces the first process by the 32-bit call, past a filter of numbers",
    code: int80("26", "16, victim(), 0, 0"),
    control: {
      code: `${int80("20", "0, 0, 0, 0").replace("escaped(result)", "result == os.getpid() and escaped(result)")}`,
    },
  },
  {
    name: "writes the memory of the first process (process_vm_writev)",
    code: String.raw`
pid = victim(); time.sleep(0.2)
stack = next(line for line in open("/proc/%d/maps" % pid) if "[stack]" in line).split("-")
data = ctypes.create_string_buffer(b"x" * 8); here = struct.pack("QQ", ctypes.addressof(data), 8)
there = struct.pack("QQ", int(stack[1].split()[0], 16) - 16, 8)
syscall(311, 271, pid, ctypes.create_string_buffer(here), 1, ctypes.create_string_buffer(there), 1, 0); escaped()`,
  },
  {
    name: "takes a file of the first process (pidfd_getfd)",
    code: String.raw`
fd = syscall(434, 434, victim(), 0)
for number in range(8):
    try: syscall(438, 438, fd, number, 0)
    except OSError as error:
        if error.errno == errno.EBADF: continue
        raise
    escaped(number)`,
  },
  {
    name: "finds a folder outside among the files of the first process",
    code: `
pid = victim()
for fd in os.listdir("/proc/%d/fd" % pid):
    for path in (E["BASE"][1:] + "/outside.txt", "outside.txt"):
        try: leaks("/proc/%d/fd/%s/%s" % (pid, fd, path))
        except OSError: pass`,
  },
  {
    name: "finds the first process with rights or without a filter, to be taken over by its memory",
    code: `
status = dict(line.split(":", 1) for line in open("/proc/%d/status" % victim()).read().splitlines())
rights = [int(status[kind], 16) for kind in ("CapPrm", "CapEff", "CapBnd", "CapAmb")]
(any(rights) or status["Seccomp"].strip() != "2" or status["NoNewPrivs"].strip() != "1") and escaped()`,
  },
  {
    name: "reads the server's environment by a process",
    code: String.raw`
for file in glob.glob("/proc/[0-9]*/environ"):
    if "/%d/" % os.getpid() in file: continue
    try: leaks(file, "tweet-env")
    except OSError: pass`,
  },
  { name: "has the server's environment", code: `E.get("AGIRAPH_TEST_KEY") and escaped()` },
  {
    name: "sees processes outside the sandbox",
    code: String.raw`
for file in glob.glob("/proc/[0-9]*/cmdline"):
    if b"runner.ts" in read(file): escaped(file)`,
  },
  { name: "signals the server", code: `os.kill(int(E["RUNNER"]), 0); escaped()` },
  {
    name: "opens a process outside by its number (pidfd_open)",
    code: `syscall(434, 434, int(E["RUNNER"]), 0); escaped()`,
  },
  {
    name: "kills the first process",
    code: String.raw`
pid = victim(); os.kill(pid, signal.SIGKILL); time.sleep(0.1)
try: OUTSIDE and os.waitpid(pid, 0)
except ChildProcessError: pass
os.path.exists("/proc/%d" % pid) or escaped()`,
  },
  {
    name: "raises its own bounds (setrlimit)",
    code: String.raw`
import resource
for what in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
    try: resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError): continue
    escaped(what)`,
    control: { root: true },
  },
  {
    name: "raises its own bounds by prlimit64 on its parent",
    code: `new = ctypes.create_string_buffer(struct.pack("QQ", 2**64 - 1, 2**64 - 1)); syscall(302, 261, os.getppid(), 1, new, None); escaped()`,
    control: { root: true },
  },
  {
    name: "gets ahead of others for the processor (nice)",
    code: `os.setpriority(os.PRIO_PROCESS, 0, -5); escaped()`,
    control: { root: true },
  },
  {
    name: "takes back that it is last in line for the processor",
    code: `os.setpriority(os.PRIO_PROCESS, 0, 0); os.getpriority(os.PRIO_PROCESS, 0) <= 0 and escaped()`,
  },
  {
    name: "gets real-time priority",
    code: `os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); escaped()`,
    control: { root: true },
  },
  {
    name: "gets real-time priority for the disk",
    code: `syscall(251, 30, 1, 0, (1 << 13) | 4); escaped()`,
    control: { root: true },
  },
  {
    name: "has capabilities",
    code: `int(next(line for line in open("/proc/self/status") if line.startswith("CapBnd")).split()[1], 16) and escaped()`,
  },
  {
    name: "may gain rights by a set-user-ID program",
    code: `libc.prctl(39, 0, 0, 0, 0) == 0 and escaped()`,
  },
  {
    name: "becomes root (setuid)",
    code: `os.setuid(0); escaped()`,
    control: { root: true },
  },
  {
    name: "leaves a core dump, which a handler outside would be started for",
    code: String.raw`
import resource
pid = os.fork()
if pid == 0:
    try: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    except (OSError, ValueError): pass
    os.abort()
os.WCOREDUMP(os.waitpid(pid, 0)[1]) and escaped()`,
  },
];

/** A call of the 32-bit kind on x86-64, from a page of machine code; `escaped` unless it fails. */
function int80(number: string, args: string): string {
  return String.raw`
if ARM: raise OSError(errno.ENOSYS, "no such call on this processor") if not OUTSIDE else escaped("arm64 has no such way")
pages = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# push rbx; mov eax, edi; mov ebx, esi; mov edx, r8d; mov esi, r9d; int 0x80; cdqe; pop rbx; ret. ecx is in its place.
pages.write(bytes.fromhex("53 89f8 89f3 4489c2 4489ce cd80 4898 5b c3".replace(" ", "")))
call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 6)(ctypes.addressof(ctypes.c_char.from_buffer(pages)))
one, two, three, four = (${args})
result = call(${number}, one, 0, two, three, four)
if result < 0: raise OSError(-result, os.strerror(-result))
escaped(result)`;
}

testEscapes(attacks);
