/** The words that attacks are written in. Constants are those of Linux on x86-64 and arm64. */
export const prelude = String.raw`
import ctypes, errno, fcntl, glob, mmap, os, signal, socket, stat, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
OUTSIDE = "OUTSIDE" in os.environ
E = os.environ
TWEET = "tweet"

def escaped(what=""):
    print("ESCAPED", what, flush=True)
    os._exit(0)

def syscall(x86, arm, *args):
    """Raises OSError as Python's own calls do."""
    number = arm if ARM else x86
    if number is None:
        raise OSError(errno.ENOSYS, "no such call on this processor")
    words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) if isinstance(a, bytes) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def permitted(x86, arm, *args):
    """Escaped when the kernel gets as far as to look at the arguments: these are wrong on purpose, so that nothing happens."""
    try:
        syscall(x86, arm, *args)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise
        escaped(errno.errorcode[error.errno])
    escaped()

def read(path, mode="rb"):
    with open(path, mode) as file:
        return file.read(65536)

def leaks(path, word="CANARY"):
    if word.encode() in read(path):
        escaped(path)

def write(path, text="escaped", flags=os.O_WRONLY | os.O_APPEND):
    fd = os.open(path, flags)
    os.write(fd, text.encode())
    os.close(fd)
    escaped(path)

def sh(script):
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=8).stdout

def victim():
    """Outside the sandbox a process of one's own stands for the first process inside it."""
    return int(subprocess.Popen(["sleep", "20"], pass_fds=[os.open("/", os.O_RDONLY)]).pid) if OUTSIDE else 1

def ask_outside(step):
    """Has the test do something outside, such as saving a file, while the command runs."""
    open(E["DESK"] + "/ask-" + step, "w").close()
    end = time.time() + 15
    while not os.path.exists(E["DESK"] + "/did-" + step):
        if time.time() > end:
            raise TimeoutError(step)
        time.sleep(0.01)

def proxied(*requests):
    """What our proxy answers to these, on one connection."""
    at = E["http_proxy"].rsplit(":", 1)
    with socket.create_connection(("127.0.0.1", int(at[1])), timeout=4) as s:
        text = ""
        for request in requests:
            s.sendall(request.replace("\n", "\r\n").encode())
            while True:
                chunk = s.recv(4096)
                text += chunk.decode(errors="replace")
                if not chunk or TWEET in text or text.endswith("established\r\n\r\n"): break
        return text

def dial(host, port, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.settimeout(4)
        s.connect((host, int(port)) if family != socket.AF_UNIX else host)
        s.send(b"hello\n")
        return s.recv(1000).decode()
`;

/** Runs each attack of a list in a process of its own, in order, and prints its outcome as a line of JSON. */
export const driver = String.raw`
import json, os, select, signal, sys, time, traceback
kit = os.path.dirname(os.path.abspath(__file__))
prelude = compile(open(kit + "/prelude.py").read(), "prelude", "exec")
for attack in json.load(open(kit + "/" + sys.argv[1])):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.environ.update(attack["env"])
        try:
            names = {}
            exec(prelude, names)
            exec(compile(attack["code"], attack["name"], "exec"), names)
            print("HELD", flush=True)
        except BaseException as error:
            print("HELD", type(error).__name__, error, flush=True)
        os._exit(0)
    os.close(writing)
    said, end = b"", time.time() + 20
    while b"ESCAPED" not in said and b"HELD" not in said and time.time() < end:
        if not select.select([reading], [], [], 1)[0]:
            continue
        chunk = os.read(reading, 65536)
        if not chunk:
            break
        said += chunk
    os.close(reading)
    for target in (-pid, pid):
        try: os.kill(target, signal.SIGKILL)
        except OSError: pass
    os.waitpid(pid, 0)
    text = said.decode(errors="replace").strip()[-300:]
    print("@@" + json.dumps({"name": attack["name"], "escaped": "ESCAPED" in text, "said": text}), flush=True)
`;
