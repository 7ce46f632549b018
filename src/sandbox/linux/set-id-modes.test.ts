import { execFile } from "node:child_process";
import { chmod, chown, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { inSandbox, skipped, whole } from "../../../test/try-sandbox.ts";
import { systemCallFilter } from "./seccomp.ts";

const none = skipped || !systemCallFilter(process.arch, { cgroup: true, outer: true });
const uids = [process.getuid?.() ?? 0, ...(process.getuid?.() === 0 ? [60641] : [])];

/** Every way to give a file an S_ISUID or S_ISGID bit: each leaves a file of its name behind, with the bit if it worked. */
const attack = String.raw`perl -e '
use POSIX; use Fcntl; my $arm = $ARGV[0] eq "arm64"; my $at = -100;
sub file { open(my $f, ">", $_[0]); close $f; $_[0] }
chmod 04755, file("chmod-suid"); chmod 02755, file("chmod-sgid"); chmod 06755, file("chmod-both");
open(my $f, ">", "fchmod"); chmod 04755, $f; close $f;
syscall($arm ? 53 : 268, $at, file("fchmodat"), 04755);
syscall(452, $at, file("fchmodat2"), 02755, 0);
syscall($arm ? 56 : 257, $at, my $n1 = "openat", O_CREAT | O_WRONLY, 04755);
my $fd = syscall($arm ? 56 : 257, $at, my $dot = ".", 020000000 | ($arm ? 040000 : 0200000) | O_WRONLY, 04755);
syscall($arm ? 37 : 265, $at, my $from = "/proc/self/fd/$fd", $at, my $n2 = "tmpfile", 0x400) if $fd >= 0;
my $how = pack "QQQ", O_CREAT | O_WRONLY, 04755, 0;
syscall(437, $at, my $n3 = "openat2", $how, 24);
syscall($arm ? 33 : 259, $at, my $n4 = "mknodat", 0100000 | 04755, 0);
syscall($arm ? 34 : 258, $at, my $n5 = "mkdirat", 02755); chmod 02755, "mkdirat";
if (!$arm) {
  syscall(2, my $n6 = "open", O_CREAT | O_WRONLY, 04755);
  syscall(85, my $n7 = "creat", 02755);
  syscall(133, my $n8 = "mknod", 0100000 | 04755, 0);
  syscall(83, my $n9 = "mkdir", 02755);
  syscall(90, file("high-bits"), (1 << 40) | 04755);
}
mkdir "mkdirat"; chmod 02755, "mkdirat"; print "tried\n"' ${process.arch}`;

/** What ordinary tools do with modes, in a folder that holds a set-group-ID folder of the owner's. */
const ordinary = `set -e; umask 022
printf x > a; chmod 755 a; chmod +t .; mkdir -p d/e; cp -a d copy; install -m 644 a b; mkfifo pipe; mktemp -p . >/dev/null
tar -cf t.tar d a; mkdir out; tar -xpf t.tar -C out; touch c; chmod 000 c; chmod u+rw c
if command -v git >/dev/null; then
  git init -q repo; git -C repo -c user.name=n -c user.email=e@x commit -q --allow-empty -m m; git clone -q repo clone
fi
if command -v python3 >/dev/null; then python3 -c 'import shutil, tempfile; shutil.copytree("d", "d2"); tempfile.mkstemp(dir="."); tempfile.TemporaryFile(dir=".")'; fi
if command -v node >/dev/null; then node -e 'fs.cpSync("d", "d3", { recursive: true }); fs.writeFileSync("n", "", { mode: 0o600 })'; fi
mkdir shared/below; tar -cf shared.tar shared; rm -r out; mkdir out; tar -xf shared.tar -C out; stat -c %A a; echo fine`;

describe.skipIf(none).each(uids)(`in the folder of uid %i ${skipped}`, (uid) => {
  test("a command leaves no set-user-ID or set-group-ID file, whichever system call it tries", async () => {
    const { output, left } = await asUid(uid, attack);
    expect(output).toBe("tried\n");
    expect(left.length).toBeGreaterThan(5);
    expect(left.filter(({ mode }) => (mode & 0o6000) !== 0)).toEqual([]);
  });

  test("ordinary tools go on: chmod, cp, tar, git, Python, and a set-group-ID folder that was there", async () => {
    const { output } = await asUid(uid, ordinary);
    expect(output).toBe("-rwxr-xr-x\nfine\n");
  });
});

test.skipIf(none)(`a program leaves no set-user-ID file either ${skipped}`, async () => {
  const { start, file } = await inSandbox();
  expect((await whole(await start(attack))).out).toBe("tried\n");
  expect((await modesIn(file(""))).filter(({ mode }) => (mode & 0o6000) !== 0)).toEqual([]);
});

test("the control: without a sandbox the attack leaves such files", async () => {
  const { run, file } = await inSandbox({ unsafe: true });
  await run(attack);
  const names = (await modesIn(file(""))).filter(({ mode }) => (mode & 0o6000) !== 0).map(({ name }) => name);
  const x64 = process.arch === "x64" ? ["creat", "high-bits", "mknod", "open"] : [];
  expect(names).toEqual(
    expect.arrayContaining(["chmod-both", "chmod-sgid", "chmod-suid", "fchmod", "fchmodat", ...x64]),
  );
  expect(names).toEqual(expect.arrayContaining(["mkdirat", "mknodat", "openat", "openat2", "tmpfile"]));
});

/** Runs a command in a sandbox that a process of this uid opened, in a folder that belongs to it. */
async function asUid(uid: number, command: string) {
  const { root, file } = await inSandbox();
  const folder = file("");
  await chmod(root, 0o711);
  await mkdir(join(folder, "shared"));
  for (const path of [folder, join(folder, "shared")]) await chown(path, uid, uid);
  await chmod(join(folder, "shared"), 0o2755);
  const script = `import { openSandbox } from ${JSON.stringify(room)}; const s = await openSandbox();
    const { output } = await s.run({ command: ${JSON.stringify(command)}, env: {}, timeoutMs: 20_000, cwd: ${JSON.stringify(folder)},
      binds: { write: [${JSON.stringify(folder)}], read: [], hide: [] }, signal: new AbortController().signal });
    process.stdout.write(output)`;
  const as = uid === process.getuid?.() ? {} : { uid, gid: uid, cwd: "/", env: { PATH: "/usr/bin:/bin" } };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], as);
  return { output: stdout, left: (await modesIn(folder)).filter(({ name }) => name !== "shared") };
}

async function modesIn(folder: string): Promise<{ name: string; mode: number }[]> {
  const names = (await readdir(folder)).sort();
  return Promise.all(names.map(async (name) => ({ name, mode: (await stat(join(folder, name))).mode })));
}

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));
