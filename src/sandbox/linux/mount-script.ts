import { isBelow, type Mount } from "../binds/binds.ts";

/**
 * Makes the mounts that bubblewrap then binds, in an existing mount namespace. A small Perl program, since Node has no
 * system calls and Perl is part of every Debian.
 *
 * MOUNTS-1. Every source is opened without following a symlink anywhere in its path (openat2), even if the folder is
 *     changed meanwhile.
 * MOUNTS-2. As root it is mounted with shifted ids (mount_setattr): what belongs to root on disk belongs to the
 *     command's uid in the sandbox, and files that the command creates belong to root on disk. Nothing on disk is
 *     changed for this.
 * MOUNTS-3. On file systems that cannot shift ids, writable folders are handed over by chown; read-only ones stay as
 *     they are.
 * MOUNTS-6. A folder that is laid out is assembled here, so that bubblewrap binds it in one go: bubblewrap reads the
 *     table of all mounts again after each mount.
 *
 * The command to run is appended to the result. `uid` is null for an ordinary user: nothing is shifted. The mounts are
 * passed through the environment: other users of the machine can read a command line, and with it the names of files.
 */
export function mountScript(uid: number | null, cgroup: readonly string[]): string[] {
  const calls = process.arch === "arm64" ? ["97", "219"] : ["272", "250"];
  return ["perl", "-e", script, String(uid ?? 0), ...calls, ...cgroup, "--"];
}

export interface MountPlan {
  /** What the script is told. */
  env: Record<string, string>;
  /** Where each mount is found afterwards. */
  sourceOf: (mount: Mount) => string;
}

export function mountPlan(mounts: readonly Mount[]): MountPlan {
  const bound = mounts.filter(({ access }) => access !== "hide");
  const places = new Map(bound.map((mount, index) => [mount, `/tmp/${index}`]));
  const sources = bound.flatMap((mount, index) => {
    if (mount.access === "lay_out") return ["ld", ...partsOf(mount, index, mounts)];
    return [`${mount.access === "write" ? "w" : "r"}${mount.folder ? "d" : "f"}${mount.source}`];
  });
  const env = Object.fromEntries(sources.map((source, index) => [`MOUNT_${index}`, source]));
  return { env, sourceOf: (mount) => places.get(mount) ?? mount.source };
}

/** The places of what bubblewrap mounts inside come first: it cannot make them in a folder that is read-only by then. */
function partsOf({ at, source, parts = [] }: Mount, index: number, mounts: readonly Mount[]): string[] {
  const part = (kind: string, path: string, from: string) =>
    `p${kind}${index}:${Buffer.byteLength(path)}:${path}${from}`;
  const inside = mounts.filter((mount) => isBelow(mount.at, at));
  const places = inside.flatMap((mount) => {
    const names = mount.at.slice(at.length + 1).split("/");
    return names.map((_, depth) => {
      const isLast = depth === names.length - 1;
      return part(isLast && !mount.folder ? "x" : "e", names.slice(0, depth + 1).join("/"), "");
    });
  });
  const kinds = { folder: "d", file: "f", link: "l", empty: "e" };
  return [
    ...new Set(places),
    ...parts.map(({ path, kind, target }) => {
      const from = kind === "link" ? (target ?? "") : kind === "empty" ? "" : `${source}/${path}`;
      return part(kinds[kind], path, from);
    }),
  ];
}

const script = String.raw`
use strict;
my ($uid, $unshare, $keyctl) = splice @ARGV, 0, 3;
my @sources;
for (my $i = 0; defined(my $source = delete $ENV{"MOUNT_$i"}); $i++) { push @sources, $source }
while (defined(my $file = shift @ARGV)) {
  last if $file eq "--";
  open(my $procs, ">", $file) or die "cgroup: $!\n";
  defined syswrite($procs, $$) or die "cgroup: $!\n";
}
# KEYCTL_JOIN_SESSION_KEYRING; where the kernel has no keyrings, there is none to leave.
syscall($keyctl, 1, 0);
my ($empty, $tmp, $tmpfs, $here) = ("", "/tmp", "tmpfs", -100);
my ($openat2, $open_tree, $move_mount, $fsopen, $fsconfig, $fsmount, $mount_setattr) = (437, 428, 429, 430, 431, 432, 442);
sub must { my ($what, $result) = @_; die "$what: $!\n" if $result < 0; return $result }
chdir "/";

# A child that only lends us its user namespace. Without a uid there are no ids to shift.
my ($is_ready, $ready, $may_end, $end, $ids);
if ($uid) {
pipe($is_ready, $ready) and pipe($may_end, $end) or die "pipe: $!\n";
defined(my $child = fork) or die "fork: $!\n";
if (!$child) {
  close $end;
  syswrite $ready, syscall($unshare, 0x10000000) == 0 ? "y" : "n";
  sysread $may_end, my $byte, 1;
  exit 0;
}
close $may_end;
sysread $is_ready, my $answer, 1;
if ($answer eq "y") {
  my $after = $uid + 1;
  my $map = "0 $uid 1\n1 1 " . ($uid - 1) . "\n$uid 0 1\n$after $after " . (4294967294 - $uid) . "\n";
  for my $file ("uid_map", "gid_map") {
    open(my $handle, ">", "/proc/$child/$file") or die "$file: $!\n";
    syswrite($handle, $map) or die "$file: $!\n";
    close $handle;
  }
  open($ids, "<", "/proc/$child/ns/user") or die "user namespace: $!\n";
}
close $end;
waitpid $child, 0;
}

# O_PATH|O_CLOEXEC with RESOLVE_NO_SYMLINKS; OPEN_TREE_CLONE|CLOEXEC|AT_EMPTY_PATH|AT_RECURSIVE; MOUNT_ATTR_IDMAP.
# Of a part of a folder that is laid out (p) nothing is made where it has gone, or is a link by now.
my ($count, @trees) = (0);
for my $source (@sources) {
  my ($access, $kind, $path) = $source =~ /^(.)(.)(.*)$/s;
  my $place;
  if ($access eq "p") {
    my ($index, $length, $rest) = $path =~ /^(\d+):(\d+):(.*)$/s;
    ($place, $path) = ("/tmp/$index/" . substr($rest, 0, $length), substr($rest, $length));
  } else { $place = "/tmp/" . $count++ }
  if ($access eq "l" || $kind =~ /[elx]/) { push @trees, [undef, $kind, 0, $place, $path]; next }
  my $how = pack "QQQ", 012000000, 0, 4;
  my $opened = syscall($openat2, $here, $path, $how, 24);
  next if $opened < 0 && $access eq "p";
  must("open $path", $opened);
  my $tree = must("open_tree $path", syscall($open_tree, $opened, $empty, 1 | 02000000 | 0x1000 | 0x8000));
  my $attributes = pack "QQQQ", 0x100000, 0, 0, $ids ? fileno $ids : 0;
  my $shifted = $ids && syscall($mount_setattr, $tree, $empty, 0x1000, $attributes, 32) == 0;
  # MOUNT_ATTR_NOSUID, NODEV and RDONLY, with all below: what has them already bubblewrap does not mount once more.
  my $safe = pack "QQQQ", $access eq "w" ? 6 : 7, 0, 0, 0;
  syscall($mount_setattr, $tree, $empty, 0x1000 | 0x8000, $safe, 32);
  push @trees, [$tree, $kind, $uid && $access eq "w" && !$shifted, $place, $access eq "p"];
  if (open(my $done, "<&=", $opened)) { close $done }
}

my $fs = must("fsopen", syscall($fsopen, $tmpfs, 1));
must("fsconfig", syscall($fsconfig, $fs, 6, 0, 0, 0));
my $mount = must("fsmount", syscall($fsmount, $fs, 1, 0));
must("mount /tmp", syscall($move_mount, $mount, $empty, $here, $tmp, 4));
chmod 0755, $tmp;
umask 022;
for my $each (@trees) {
  my ($tree, $kind, $hand_over, $place, $more) = @$each;
  if ($kind eq "l") { symlink $more, $place; next }
  if ($kind =~ /[de]/) { mkdir $place or $!{EEXIST} or die "mkdir $place: $!\n" }
  else { open my $file, ">", $place or die "$place: $!\n" }
  next if !defined $tree;
  my $mounted = syscall($move_mount, $tree, $empty, $here, $place, 4);
  must("mount $place", $mounted) if !$more;
  system("chown", "-RhP", "$uid:$uid", "--", $place) == 0 or die "chown $place failed\n" if $hand_over;
}
exec { $ARGV[0] } @ARGV or die "exec $ARGV[0]: $!\n";
`;
