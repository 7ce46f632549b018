/**
 * The system calls that the filter of a sandbox knows, by their numbers on x86_64 and arm64. Null: does not exist
 * there.
 *
 * None of the refused ones is needed by an ordinary command. Each of them reaches into other processes, into the kernel
 * itself, or into what a sandbox shares with the machine around it.
 */
export const refusedCalls: Readonly<Record<string, Numbers>> = {
  // Other processes: their memory, their descriptors, their registers.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  // The keyring of the session, which no namespace separates.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Namespaces and mounts.
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  // Files by a handle that no folder bounds, and notices about files of a whole file system.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  lookup_dcookie: [212, 18],
  fanotify_init: [300, 262],
  // The machine.
  perf_event_open: [298, 241],
  bpf: [321, 280],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  vhangup: [153, 58],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
};

/** Refused as if this kernel did not have them: programs try them and continue without them. */
export const missingCalls: Readonly<Record<string, Numbers>> = {
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  memfd_secret: [447, 447],
  // Its flags lie in memory, where no filter can look at them. The C library then uses clone.
  clone3: [435, 435],
  // Its mode too. Programs then use openat.
  openat2: [437, 437],
};

/** Refused depending on their arguments. */
export const checkedCalls = {
  clone: [56, 220],
  unshare: [272, 97],
  ioctl: [16, 29],
  socket: [41, 198],
  socketpair: [53, 199],
  personality: [135, 92],
  prctl: [157, 167],
  shmget: [29, 194],
  memfd_create: [319, 279],
} as const satisfies Record<string, Numbers>;

/**
 * Calls that set a file's mode, and which argument that is; for those that open files, which argument says whether one
 * is created.
 */
export const modeCalls: Readonly<Record<string, { numbers: Numbers; mode: number; flags?: number }>> = {
  chmod: { numbers: [90, null], mode: 1 },
  fchmod: { numbers: [91, 52], mode: 1 },
  fchmodat: { numbers: [268, 53], mode: 2 },
  fchmodat2: { numbers: [452, 452], mode: 2 },
  creat: { numbers: [85, null], mode: 1 },
  open: { numbers: [2, null], mode: 2, flags: 1 },
  openat: { numbers: [257, 56], mode: 3, flags: 2 },
  mkdir: { numbers: [83, null], mode: 1 },
  mkdirat: { numbers: [258, 34], mode: 2 },
  mknod: { numbers: [133, null], mode: 1 },
  mknodat: { numbers: [259, 33], mode: 2 },
};

type Numbers = readonly [x64: number, arm64: number | null];
