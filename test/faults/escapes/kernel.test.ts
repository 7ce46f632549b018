import type { Attack } from "./attack.ts";
import { testEscapes } from "./escapes.ts";

const root = { control: { root: true } } as const;
/** What some kernels are built without. */
const rare = { control: { root: true, mayBeAbsent: true } } as const;

/** Parts of the kernel that no command needs, through which others have got out or seen what is not theirs. */
const attacks: Attack[] = [
  { name: "makes a user namespace (unshare)", code: `syscall(272, 97, 0x10000000); escaped()` },
  {
    name: "makes a user namespace (clone)",
    code: `pid = syscall(56, 220, 0x10000000 | 17, 0, 0, 0, 0); os._exit(0) if pid == 0 else escaped()`,
  },
  {
    name: "makes a user namespace (clone3)",
    code: `pid = syscall(435, 435, ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0)), 64); os._exit(0) if pid == 0 else escaped()`,
  },
  { name: "makes a mount namespace", code: `syscall(272, 97, 0x20000); escaped()`, ...root },
  {
    name: "enters the first process's namespaces (setns)",
    code: `syscall(308, 268, os.open("/proc/%d/ns/mnt" % victim(), os.O_RDONLY), 0); escaped()`,
    ...root,
  },
  {
    name: "enters the first process's namespaces by its pidfd",
    code: `syscall(308, 268, syscall(434, 434, victim(), 0), 0x20000); escaped()`,
    ...root,
  },
  {
    name: "mounts a file system",
    code: `os.mkdir("mnt-%d" % OUTSIDE); syscall(165, 40, b"none", b"mnt-%d" % OUTSIDE, b"tmpfs", 0, None); escaped()`,
    ...root,
  },
  { name: "mounts by the new calls (fsopen)", code: `syscall(430, 430, b"tmpfs", 0); escaped()`, ...root },
  { name: "clones a mount (open_tree)", code: `syscall(428, 428, -100, b"/usr", 1); escaped()`, ...root },
  {
    name: "makes a bound folder writable again (remount)",
    code: `syscall(165, 40, None, E["PROJECT"].encode(), None, 32 | 4096, None); escaped()`,
    control: {
      root: true,
      code: `os.mkdir("again"); syscall(165, 40, b"again", b"again", None, 4096, None); syscall(165, 40, None, b"again", None, 32 | 4096, None); escaped()`,
    },
  },
  {
    name: "takes away what hides a folder (umount)",
    code: `syscall(166, 39, b"/proc", 2); escaped()`,
    control: {
      root: true,
      code: `os.mkdir("hidden"); syscall(165, 40, b"none", b"hidden", b"tmpfs", 0, None); syscall(166, 39, b"hidden", 2); escaped()`,
    },
  },
  { name: "changes its root (pivot_root)", code: `permitted(155, 41, b"/nowhere", b"/nowhere")`, ...root },
  {
    name: "reads a key of the server's session (keyctl)",
    code: String.raw`
key = syscall(250, 219, 10, -3, b"user", E["KEY_NAME"].encode(), 0)
text = ctypes.create_string_buffer(64); syscall(250, 219, 11, key, text, 64)
TWEET in text.value.decode() and escaped()`,
  },
  {
    name: "asks the kernel for a key (request_key)",
    code: `syscall(249, 218, b"user", E["KEY_NAME"].encode(), None, 0); escaped()`,
  },
  { name: "keeps a key in the kernel (add_key)", code: `syscall(248, 217, b"user", b"kept", b"x", 1, -5); escaped()` },
  {
    name: "opens an io_uring",
    code: `syscall(425, 425, 4, ctypes.create_string_buffer(120)); escaped()`,
    control: { mayBeAbsent: true },
  },
  {
    name: "handles page faults itself (userfaultfd)",
    code: `syscall(323, 282, 1); escaped()`,
    control: { mayBeAbsent: true },
  },
  { name: "loads a BPF program", code: `permitted(321, 280, 5, ctypes.create_string_buffer(128), 128)`, ...root },
  {
    name: "makes a BPF map",
    code: `syscall(321, 280, 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + bytes(112)), 128); escaped()`,
    ...root,
  },
  {
    name: "measures the processor (perf_event_open)",
    code: `syscall(298, 241, ctypes.create_string_buffer(struct.pack("IIQ", 1, 128, 0) + bytes(112)), 0, -1, -1, 0); escaped()`,
    ...root,
  },
  { name: "loads a kernel module", code: `permitted(175, 105, b"x", 1, b"")`, ...rare },
  { name: "loads a kernel module by its file", code: `permitted(313, 273, -1, b"", 0)`, ...rare },
  { name: "loads another kernel (kexec)", code: `permitted(246, 104, 0, 99, None, 0)`, ...rare },
  { name: "restarts the machine", code: `permitted(169, 142, 1, 2, 3, None)`, ...root },
  { name: "swaps to a file", code: `permitted(167, 224, b"/nowhere", 0)`, ...rare },
  { name: "keeps accounts of processes (acct)", code: `permitted(163, 89, b"/nowhere")`, ...rare },
  { name: "reaches the machine's ports (iopl)", code: `permitted(172, None, 9)`, ...rare },
  {
    name: "sets the clock",
    // The tick as it is: nothing changes where it is permitted.
    code: `timex = ctypes.create_string_buffer(208); syscall(159, 171, timex); struct.pack_into("I", timex, 0, 0x4000); syscall(159, 171, timex); escaped()`,
    ...root,
  },
  { name: "sets the host name", code: `socket.sethostname("escaped"); escaped()`, ...root },
  {
    name: "reads the kernel's log (syslog)",
    code: `syscall(103, 116, 3, ctypes.create_string_buffer(4096), 4096); escaped()`,
    ...root,
  },
  { name: "watches the file system (fanotify)", code: `syscall(300, 262, 4, 0); escaped()`, ...root },
  {
    name: "compares processes in the kernel (kcmp)",
    code: `syscall(312, 272, os.getpid(), victim(), 1, 0, 0); escaped()`,
  },
  {
    name: "changes a kernel setting",
    code: `write("/proc/sys/kernel/printk_ratelimit", read("/proc/sys/kernel/printk_ratelimit").decode(), os.O_WRONLY)`,
    ...root,
  },
  {
    name: "sets the program for core dumps",
    code: `write("/proc/sys/kernel/core_pattern", read("/proc/sys/kernel/core_pattern").decode(), os.O_WRONLY)`,
    ...root,
  },
  {
    name: "gives orders by /proc/sysrq-trigger",
    code: `os.open("/proc/sysrq-trigger", os.O_WRONLY); escaped()`,
    control: { root: true, needs: "/proc/sysrq-trigger" },
  },
  {
    name: "reads where the kernel lies (/proc/kallsyms)",
    code: `any(int(line.split()[0], 16) for line in open("/proc/kallsyms")) and escaped()`,
    ...root,
  },
  {
    name: "reads the kernel's memory (/proc/kcore)",
    code: `os.open("/proc/kcore", os.O_RDONLY); escaped()`,
    control: { root: true, needs: "/proc/kcore" },
  },
  { name: "sees the machine's devices (/sys)", code: `os.listdir("/sys/class") and escaped()` },
  { name: "leaves its control group", code: `glob.glob("/sys/fs/cgroup/*") and escaped()` },
  ...[
    "mem",
    "kmsg",
    "fuse",
    "kvm",
    "vsock",
    "loop-control",
    "loop0",
    "userfaultfd",
    "net/tun",
    "ttyS0",
    "tty0",
    "port",
  ].map(
    (device): Attack => ({
      name: `opens /dev/${device}`,
      code: `os.open("/dev/${device}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY); escaped()`,
      control: { root: true, needs: `/dev/${device}` },
    }),
  ),
  {
    name: "types into the terminal it was started from (TIOCSTI)",
    code: String.raw`
if OUTSIDE:
    import pty
    os.dup2(pty.openpty()[1], 0)
for path in ("/proc/self/fd/0", "/dev/tty", "/dev/console", "/proc/self/fd/1"):
    try: fcntl.ioctl(os.open(path, os.O_RDWR | os.O_NONBLOCK), 0x5412, b"x")
    except OSError: continue
    escaped(path)`,
    ...root,
  },
];

testEscapes(attacks);
