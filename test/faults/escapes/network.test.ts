import type { Attack } from "./attack.ts";
import { testEscapes } from "./escapes.ts";

/** Ways to others that need no file: sockets of all kinds, and memory and queues that processes share by a number. */
const attacks: Attack[] = [
  { name: "reaches a port of this machine", code: `TWEET in dial("127.0.0.1", E["TCP_PORT"]) and escaped()` },
  {
    name: "reaches a port of this machine by IPv6",
    code: `TWEET in dial("::1", E["TCP6_PORT"], socket.AF_INET6) and escaped()`,
    control: { needs: "/proc/net/if_inet6" },
  },
  { name: "reaches this machine by 0.0.0.0", code: `TWEET in dial("0.0.0.0", E["ANY_PORT"]) and escaped()` },
  {
    name: "reaches this machine by its address in the network",
    code: `TWEET in dial(E["LAN"], E["ANY_PORT"]) and escaped()`,
  },
  {
    name: "reaches this machine by an IPv4 address in IPv6",
    code: `TWEET in dial("::ffff:127.0.0.1", E["TCP_PORT"], socket.AF_INET6) and escaped()`,
    control: { needs: "/proc/net/if_inet6" },
  },
  {
    name: "reaches a name server by UDP",
    code: `TWEET in dial("127.0.0.1", E["UDP_PORT"], kind=socket.SOCK_DGRAM) and escaped()`,
  },
  {
    name: "reaches the cloud's metadata server",
    code: `dial(E.get("METADATA", "169.254.169.254"), E.get("METADATA_PORT", 80)); escaped()`,
    control: { code: `TWEET in dial("127.0.0.1", E["TCP_PORT"]) and escaped()` },
  },
  {
    name: "has a route out of itself",
    code: `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((E.get("TO", "192.0.2.1"), 9)); escaped(s.getsockname())`,
    control: { env: { TO: "127.0.0.1" } },
  },
  {
    name: "sees this machine's network cards",
    code: `[name for _, name in socket.if_nameindex() if name != "lo"] and escaped()`,
  },
  {
    name: "speaks with the server's control socket",
    code: `TWEET in dial(E["AGIRAPH"] + "/control.sock", 0, socket.AF_UNIX) and escaped()`,
  },
  {
    name: "reaches a socket without a file (D-Bus, X11)",
    code: String.raw`TWEET in dial("\0" + E["ABSTRACT"], 0, socket.AF_UNIX) and escaped()`,
  },
  {
    name: "finds any socket of others: docker, ssh-agent, D-Bus",
    code: String.raw`
for top in [E["BASE"]] if OUTSIDE else ["/run", "/var", "/tmp", "/home", E["BASE"]]:
    for folder, _, names in os.walk(top):
        for name in names:
            if stat.S_ISSOCK(os.lstat(folder + "/" + name).st_mode): escaped(folder + "/" + name)`,
  },
  {
    name: "listens to raw packets",
    code: `socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); escaped()`,
    control: { root: true },
  },
  {
    name: "makes raw IP packets",
    code: `socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); escaped()`,
    control: { root: true },
  },
  {
    name: "speaks with the hypervisor (AF_VSOCK)",
    code: `socket.socket(40, socket.SOCK_STREAM); escaped()`,
    control: { needs: "/dev/vsock" },
  },
  {
    name: "uses the kernel's cryptography (AF_ALG)",
    code: `socket.socket(38, socket.SOCK_SEQPACKET).bind(("hash", "sha256")); escaped()`,
    control: { mayBeAbsent: true },
  },
  {
    name: "opens a socket of any kind that commands do not need",
    code: String.raw`
for family in range(3, 46):
    if family in (socket.AF_INET6, socket.AF_NETLINK): continue
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind)
        except OSError: continue
        escaped("family %d" % family)`,
  },
  {
    name: "hears the machine's audit (netlink)",
    code: `socket.socket(16, 3, 9).bind((0, 1)); escaped()`,
    control: { root: true },
  },
  {
    name: "reads shared memory of others (System V)",
    code: String.raw`
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(int(E["SHM_KEY"]), 4096, 0)
if segment < 0: raise OSError("no such segment")
TWEET in ctypes.string_at(libc.shmat(segment, None, 0), 5).decode() and escaped()`,
  },
  {
    name: "opens a message queue of others (POSIX)",
    code: `syscall(240, 180, E["QUEUE"].encode(), os.O_RDWR, 0, None); escaped()`,
  },
  {
    name: "counts shared memory, semaphores and queues of others",
    code: `any(len(open("/proc/sysvipc/" + kind).readlines()) > 1 for kind in ("shm", "sem", "msg")) and escaped()`,
  },
];

testEscapes(attacks);
