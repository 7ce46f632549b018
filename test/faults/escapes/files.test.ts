import type { Attack } from "./attack.ts";
import { testEscapes } from "./escapes.ts";

/** Reading and writing what is not the worker's own, by every name that a file can have. */
const attacks: Attack[] = [
  { name: "reads the server's token", code: `leaks(E["AGIRAPH"] + "/token")` },
  { name: "reads the keys of the home (.env)", code: `leaks(E["AGIRAPH"] + "/.env")` },
  { name: "reads the config of the home", code: `leaks(E["AGIRAPH"] + "/config.json")` },
  { name: "reads another agent's memory", code: `leaks(E["AGIRAPH"] + "/agents/agent-other/MEMORY.md")` },
  { name: "reads its own agent's log", code: `leaks(E["AGIRAPH"] + "/agents/agent-test/events.jsonl")` },
  { name: "reads another worker's scratch", code: `leaks(E["RUN"] + "/nodes/node-2/scratch/draft.md")` },
  { name: "reads another worker's conversation", code: `leaks(E["RUN"] + "/workers/bob/conversation.jsonl")` },
  { name: "reads an earlier run", code: `leaks(E["RUN"] + "/../run-2/_output.md")` },
  { name: "reads a file beside the home", code: `leaks(E["BASE"] + "/outside.txt")` },
  { name: "reads /etc/shadow", code: `leaks("/etc/shadow", "root")`, control: { root: true } },
  { name: "looks into root's folder", code: `escaped(len(os.listdir("/root")))`, control: { root: true } },
  { name: "reads the project's .env", code: `leaks(E["PROJECT"] + "/.env")` },
  { name: "reads the project's .git/config", code: `leaks(E["PROJECT"] + "/.git/config")` },
  { name: "reads a dot folder deep in the project", code: `leaks(E["PROJECT"] + "/src/.secret/key")` },
  { name: "reads the token by a link in the project", code: `leaks(E["PROJECT"] + "/link-to-token")` },
  { name: "reads the project's .env by a link in the project", code: `leaks(E["PROJECT"] + "/link-to-env")` },
  {
    name: "reads the project's .env that is saved by rename meanwhile",
    code: `ask_outside("save-env"); leaks(E["PROJECT"] + "/.env")`,
  },
  {
    name: "reads a dot file that is made in the project meanwhile",
    code: `ask_outside("new-dot"); leaks(E["PROJECT"] + "/.late")`,
  },
  {
    name: "reads a dot file that is made meanwhile in a folder that had none",
    code: `ask_outside("new-dot-below"); leaks(E["PROJECT"] + "/docs/.env")`,
  },
  {
    name: "reads a dot file that is made meanwhile deep in folders that had none",
    code: `ask_outside("new-dot-deep"); leaks(E["PROJECT"] + "/docs/a/b/c/.env")`,
  },
  {
    name: "reads a dot file in a folder that is made in the project meanwhile",
    code: `ask_outside("new-folder"); leaks(E["PROJECT"] + "/late/.env")`,
  },
  {
    name: "reads a dot folder of the project that is replaced meanwhile",
    code: `ask_outside("replace-folder"); leaks(E["PROJECT"] + "/src/.secret/key")`,
  },
  {
    name: "reads the token by a symbolic link of its own",
    code: `os.symlink(E["AGIRAPH"] + "/token", "soft"); leaks("soft")`,
    control: { code: `os.symlink(E["AGIRAPH"] + "/token", "soft-control"); leaks("soft-control")` },
  },
  {
    name: "makes a hard link to the token",
    code: `os.link(E["AGIRAPH"] + "/token", "hard"); escaped()`,
  },
  {
    name: "climbs out of its folder by ..",
    code: `leaks("/proc/self/cwd/" + "../" * len(E["DESK"].removeprefix(E["BASE"] + "/").split("/")) + "outside.txt")`,
  },
  { name: "reads the token by /proc/self/root", code: `leaks("/proc/self/root" + E["AGIRAPH"] + "/token")` },
  { name: "reads the token by /proc/1/root", code: `leaks("/proc/%d/root" % victim() + E["AGIRAPH"] + "/token")` },
  {
    name: "climbs from the first process's folder",
    code: `os.chdir("/proc/%d/cwd" % victim()); leaks("../" * 20 + E["BASE"] + "/outside.txt")`,
  },
  {
    name: "leaves a chroot by a folder it kept open",
    code: `os.mkdir("jail"); root = os.open("/", os.O_RDONLY); os.chroot("jail"); os.fchdir(root); escaped()`,
    control: {
      root: true,
      code: `os.mkdir("jail2"); root = os.open("/", os.O_RDONLY); os.chroot("jail2"); os.fchdir(root); escaped()`,
    },
  },
  {
    name: "opens a file by its handle",
    code: String.raw`handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)); mount = ctypes.c_int()
open("own", "w").close()
syscall(303, 264, -100, b"own", handle, ctypes.byref(mount), 0)
syscall(304, 265, os.open(".", os.O_RDONLY), handle, os.O_RDONLY); escaped()`,
    control: { root: true },
  },
  { name: "changes what its node published", code: `write(E["RUN"] + "/nodes/node-1/published/report.md")` },
  { name: "changes what another node published", code: `write(E["RUN"] + "/nodes/node-2/published/report.md")` },
  { name: "changes its task", code: `write(E["RUN"] + "/nodes/node-1/_spec.md")` },
  { name: "changes its conversation", code: `write(E["RUN"] + "/workers/alice/conversation.jsonl")` },
  {
    name: "puts another file in place of its conversation",
    code: `open("mine", "w").close(); os.rename("mine", E["RUN"] + "/workers/alice/conversation.jsonl"); escaped()`,
  },
  { name: "changes the project", code: `write(E["PROJECT"] + "/README.md")` },
  {
    name: "moves its folder away, for another to be put there",
    code: `os.rename(E["DESK"], E["DESK"] + ".moved"); escaped()`,
    control: { code: `os.mkdir("own-folder"); os.rename("own-folder", "own-folder.moved"); escaped()` },
  },
  ...["/usr/escaped", "/etc/escaped", "/escaped", "/dev/escaped"].map(
    (path): Attack => ({
      name: `makes ${path}`,
      code: `fd = os.open("${path}", os.O_CREAT | os.O_WRONLY); os.close(fd); escaped()`,
      control: {
        root: true,
        code: `os.mkdir("in-memory") if not os.path.exists("in-memory") else None; path = "in-memory/" + os.path.basename("${path}"); os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); escaped()`,
      },
    }),
  ),
  {
    name: "leaves files in the machine's /tmp, /var/tmp and /dev/shm",
    // What it makes there is in memory of its own: what counts is what is outside afterwards (see the test of changes).
    code: `
for stray in E["STRAYS"].split():
    try: open(stray, "w").close()
    except OSError: pass
if OUTSIDE: escaped()`,
  },
  {
    name: "leaves a set-user-ID program on the disk",
    code: `open("setuid", "w").close(); os.chmod("setuid", 0o4755)
if os.stat("setuid").st_mode & stat.S_ISUID: escaped()`,
  },
  {
    name: "leaves a set-group-ID program on the disk",
    code: `fd = os.open("setgid", os.O_CREAT | os.O_WRONLY, 0o755); os.fchmod(fd, 0o2755)
if os.stat("setgid").st_mode & stat.S_ISGID: escaped()`,
  },
  {
    name: "gives a file of its own to another user",
    code: `open("given", "w").close(); os.chown("given", 12345, 12345); escaped()`,
    control: { root: true },
  },
  {
    name: "makes a device file and reads the disk",
    code: `os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(7, 0)); os.open("disk", os.O_RDONLY); escaped()`,
    control: {
      root: true,
      code: `os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3)); os.open("null", os.O_RDONLY); escaped()`,
    },
  },
  {
    name: "gives a file capabilities",
    code: `open("capable", "w").close(); os.setxattr("capable", "security.capability", struct.pack("<IIIII", 0x2000001, 0xffffffff, 0, 0xffffffff, 0)); escaped()`,
    control: { root: true },
  },
  {
    name: "reads a file that the server inherited",
    code: `os.lseek(77, 0, 0); TWEET in os.read(77, 10).decode() and escaped()`,
    control: { code: `path = "/proc/%s/fd/77" % E["RUNNER"]; leaks(path, TWEET)` },
  },
];

testEscapes(attacks);
