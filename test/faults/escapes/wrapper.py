# Starts a program as the user given, with things that it inherits without wanting to: a key in its session's keyring, an
# open file, and shared memory and a message queue of the same user. Takes them away again when it ends.
import ctypes, os, sys

uid, program = int(sys.argv[1]), sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
number = lambda x86, other: other if arm else x86
if uid >= 0:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
name = b"agiraph-escape-%d" % os.getpid()
libc.syscall(number(250, 219), 1, None)  # a session keyring of its own
libc.syscall(number(248, 217), b"user", name, b"tweet", 5, -3)
inherited = os.memfd_create("inherited")
os.write(inherited, b"tweet")
os.dup2(inherited, 77, inheritable=True)
key = 0x41470000 + os.getpid() % 65536
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(key, 4096, 0o1666)
where = libc.shmat(segment, None, 0)
ctypes.memmove(where, b"tweet", 5)
queue = libc.syscall(number(240, 180), name, os.O_RDWR | os.O_CREAT, 0o666, None)
os.environ.update(SHM_KEY=str(key), QUEUE=name.decode(), KEY_NAME=name.decode(), AGIRAPH_TEST_KEY="tweet-env")
child = os.fork()
if child == 0:
    os.execv(program[0], program)
status = os.waitpid(child, 0)[1]
libc.shmctl(segment, 0, None)
libc.syscall(number(241, 181), name)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
