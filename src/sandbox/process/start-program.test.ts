import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { deafDaemon, inSandbox, lifeOf, skipped, whole } from "../../../test/try-sandbox.ts";
import { within } from "../../testing/within.ts";

const fine = { code: 0, signal: null, exceeded: null };
const killed = { code: null, signal: "SIGKILL", exceeded: null };

/** Says which port it listens on, here outside; closed when the test is over. */
async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

/** Asks with nothing but bash. */
const get = (port: number | string) =>
  `(exec 9<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&9 && tail -n 1 <&9) 2>&1`;

const answering = (words: string) => createHttpServer((_, response) => response.end(`${words}\n`));

describe.skipIf(skipped)(`a program that lives on ${skipped}`, () => {
  test("hears and speaks line by line, on streams that are apart, and gives its exit code", async () => {
    const { start } = await inSandbox();
    const running = await start('while read -r line; do echo "heard $line"; echo "noted $line" >&2; done; exit 5');
    const errors = text(running.stderr);
    for (const word of ["one", "two"]) {
      running.stdin.write(`${word}\n`);
      expect(String((await once(running.stdout, "data"))[0])).toBe(`heard ${word}\n`);
    }
    running.stdin.end();
    expect([await errors, await running.ended]).toEqual(["noted one\nnoted two\n", { ...fine, code: 5 }]);
  });

  test("can open its streams by name, and holds no others", async () => {
    const { start } = await inSandbox();
    const { out, err } = await whole(await start("echo a > /dev/stdout; echo b > /dev/stderr; ls /proc/$$/fd; exit"));
    expect([out, err]).toEqual(["a\n0\n1\n2\n", "b\n"]);
  });

  test("is read by whoever comes late: what it said is still there", async () => {
    const { start } = await inSandbox();
    const running = await start("echo early; echo sorry >&2");
    const ended = await running.ended;
    expect([ended, await text(running.stdout), await text(running.stderr)]).toEqual([fine, "early\n", "sorry\n"]);
  });

  test("gets every byte, in both directions", async () => {
    const { start } = await inSandbox();
    const running = await start("sha256sum; head -c 20000000 /dev/zero");
    running.stdin.end(Buffer.alloc(20_000_000));
    const { out } = await whole(running);
    const sum = execFileSync("sha256sum", { input: Buffer.alloc(20_000_000) }).toString();
    expect([out.slice(0, sum.length), out.length]).toEqual([sum, sum.length + 20_000_000]);
  });

  test("gets the environment it is given, which nobody else on the machine can read", async () => {
    const { start } = await inSandbox();
    const running = await start("read -r _; echo $KEY", { env: { KEY: "sk-very-secret" } });
    const seen = execFileSync("bash", ["-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"]).toString();
    running.stdin.end();
    expect([seen.includes("read -r _"), seen.includes("sk-very-secret")]).toEqual([true, false]);
    expect((await whole(running)).out).toBe("sk-very-secret\n");
  });

  test("has no bound on its time and on the address space it reserves", async () => {
    const { start } = await inSandbox();
    expect((await whole(await start("ulimit -t; ulimit -v; ulimit -u"))).out).toBe("unlimited\nunlimited\n512\n");
  });

  test("is ended for the memory of all its processes, by the limit it was given", async () => {
    const { start } = await inSandbox();
    const hold = (bytes: number) => `perl -e '$| = 1; my $x = "a" x ${bytes}; print "held\\n"; <STDIN>'`;
    const limits = { memoryBytes: 100 * 1024 ** 2 };
    const small = await start(hold(20_000_000), { limits });
    small.stdin.end();
    expect(await whole(small)).toEqual({ out: "held\n", err: "", ...fine });
    const large = await start(hold(200_000_000), { limits });
    expect(await large.ended).toEqual({ ...killed, exceeded: "memory" });
  });

  test("is not begun, with the reason, where it is not there or may not be", async () => {
    const { box, start } = await inSandbox();
    await expect(start("true", { cwd: "/var" })).rejects.toThrow("The working folder /var is outside");
    const missing = box.start({
      launch: () => ({ argv: ["/nowhere/agent"], env: {} }),
      cwd: "/tmp",
      binds: { write: [], read: [], hide: [] },
      signal: new AbortController().signal,
    });
    await expect(missing).rejects.toThrow("/nowhere/agent is not there inside");
    const reason = new Error("stopped by the human");
    await expect(start("true", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe.skipIf(skipped)(`the end of a program ${skipped}`, () => {
  test("is asked for first: the program gets SIGTERM and may end in its own way", async () => {
    const { start } = await inSandbox();
    const running = await start("trap 'echo so be it; exit 7' TERM; echo up; while :; do sleep 0.01; done");
    await once(running.stdout, "data");
    const said = text(running.stdout);
    await running.stop(20_000);
    expect([await said, await running.ended]).toEqual(["so be it\n", { ...fine, code: 7 }]);
  });

  test("comes after the grace for whoever is deaf, with all it started, although nobody takes what it says", async () => {
    const { start, file } = await inSandbox();
    const life = lifeOf(file("life"));
    const running = await start(`exec 9>life; trap '' TERM; ${deafDaemon}; yes & yes >&2`);
    await life.begun;
    await within(1_100, running.stop(100));
    expect([await life.ended, await running.ended]).toEqual(["alive\n", killed]);
  });

  test("takes what the program left behind with it", async () => {
    const { start, file } = await inSandbox();
    const life = lifeOf(file("life"));
    const running = await start(`exec 9>life; ${deafDaemon}; read -r _`);
    await life.begun;
    running.stdin.end("\n");
    expect([await whole(running), await life.ended]).toEqual([{ out: "", err: "", ...fine }, "alive\n"]);
  });

  test("comes at once by the signal", async () => {
    const { start, file } = await inSandbox();
    const stop = new AbortController();
    const life = lifeOf(file("life"));
    const running = await start(`exec 9>life; ${deafDaemon}; sleep 1000`, { signal: stop.signal });
    await life.begun;
    stop.abort();
    expect([await running.ended, await life.ended]).toEqual([killed, "alive\n"]);
  });

  test.each(["confined", "unsafe"])("comes when we are killed: %s", async (kind) => {
    const { file } = await inSandbox();
    const life = lifeOf(file("life"));
    const folder = JSON.stringify(file(""));
    // Without a namespace only its group is held together.
    const inside = kind === "unsafe" ? "(sh -c 'trap \"\" TERM HUP; echo alive >&9; sleep 1000' &)" : deafDaemon;
    const script = `import { openSandbox } from ${JSON.stringify(room)}; import { createServer } from "node:net";
      const s = await openSandbox({ unsafe: ${kind === "unsafe"} });
      await s.start({ launch: () => ({ argv: ["bash", "-c", ${JSON.stringify(`exec 9>life; ${inside}; trap '' TERM; sleep 1000`)}], env: {} }),
        door: createServer(), cwd: ${folder}, binds: { write: [${folder}], read: [], hide: [] }, signal: new AbortController().signal })`;
    const us = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    onTestFinished(() => void us.kill("SIGKILL"));
    await life.begun;
    us.kill("SIGKILL");
    expect(await life.ended).toBe("alive\n");
  });
});

test("who opens the ports of a sandbox ends when we are killed before they are taken", async () => {
  // Its output is open as long as somebody lives who holds it.
  const script = `import { spawn } from "node:child_process";
    spawn(process.execPath, ["--no-warnings", ${JSON.stringify(helper)}, "0", "0"], { stdio: ["ignore", "inherit", "inherit", "pipe", "ipc"], detached: true });
    process.kill(process.pid, "SIGKILL")`;
  const us = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
  expect(await Promise.all([text(us.stdout), text(us.stderr)])).toEqual(["", ""]);
});

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));
const helper = fileURLToPath(new URL("../network/inner-ports.ts", import.meta.url));

describe.skipIf(skipped)(`the door of a program ${skipped}`, () => {
  test("is open for whoever is inside, and closed when it ends", async () => {
    const { start } = await inSandbox();
    const door = answering("come in");
    const ask = `${get("$" + "{DOOR##*:}")}; echo $DOOR`;
    expect((await whole(await start(ask, { door }))).out).toBe("come in\nhttp://127.0.0.1:3129\n");
    expect(door.listening).toBe(false);
  });

  test("is there for nobody else: each has its own, at the same address", async () => {
    const { start } = await inSandbox();
    const waiting = `read -r _; ${get(3129)}`;
    const [one, two, none] = await Promise.all([
      start(waiting, { door: answering("the first") }),
      start(waiting, { door: answering("the second") }),
      start(waiting),
    ]);
    for (const { stdin } of [one, two, none]) stdin.write("go\n");
    const said = await Promise.all([one, two, none].map(async (running) => (await whole(running)).out));
    expect(said).toEqual(["the first\n", "the second\n", expect.stringContaining("Connection refused")]);
  });

  test("does not take more connections than we can spare", async () => {
    const { start } = await inSandbox();
    const door = createServer();
    const taken: unknown[] = [];
    door.on("connection", (socket) => taken.push(socket));
    const dropped = once(door, "drop");
    const flood = `perl -MIO::Socket::INET -e 'my @all; for (1 .. 400) { push @all, IO::Socket::INET->new("127.0.0.1:3129") } <STDIN>'`;
    const running = await start(flood, { door });
    await dropped;
    expect(taken.length).toBe(256);
    running.stdin.end();
    await running.ended;
  });

  test("stands beside the ports of this machine that are listed, and no others are reached", async () => {
    const { start } = await inSandbox();
    const [open, shut] = [await listening(answering("listed")), await listening(answering("not listed"))];
    const network = { allow: [`localhost:${open}`] };
    const proxied = `curl -s --noproxy '' http://127.0.0.1:${shut}/`;
    const { out } = await whole(
      await start(`${get(open)}; ${get(shut)}; ${proxied}; echo $NO_PROXY`, { network, door: answering("door") }),
    );
    expect(out).toMatch(/^listed\n.*Connection refused\n.*\nagiraph: 127.0.0.1:\d+ is not on the list.*\n127.0.0.1,/s);
  });

  test("makes room for a listed port of its own number", async () => {
    const { start } = await inSandbox();
    const door = answering("door");
    const { out } = await whole(
      await start("echo $DOOR $HTTP_PROXY", { network: { allow: ["localhost:3128", "127.0.0.1:3129"] }, door }),
    );
    expect(out).toBe("http://127.0.0.1:3131 http://127.0.0.1:3130\n");
    await expect(start("true", { network: { allow: ["localhost:80"] } })).rejects.toThrow(
      "localhost:80 cannot be reached from the sandbox: of this machine only the ports 1024 to 65535 can.",
    );
  });
});

describe("where nothing confines", () => {
  test("a program is refused with the reason", async () => {
    const { start } = await inSandbox({ platform: "linux", bwrap: "/nowhere/bwrap" });
    await expect(start("true")).rejects.toThrow("apt install bubblewrap");
  });

  test("by wish, it finds the door on this machine's loopback, and its group ends with it", async () => {
    const { start, file } = await inSandbox({ unsafe: true });
    const life = lifeOf(file("life"));
    const ask = get("$" + "{DOOR##*:}");
    const running = await start(`exec 9>life; ${ask}; trap '' TERM; (echo alive >&9; sleep 1000 2>&- >&-) & wait`, {
      door: answering("come in"),
    });
    await life.begun;
    await once(running.stdout, "data").then(([chunk]) => expect(String(chunk)).toBe("come in\n"));
    await running.stop(50);
    expect([await life.ended, await running.ended]).toEqual(["alive\n", killed]);
  });
});

test.skipIf(skipped || process.getuid?.() !== 0)("all this holds for a user who is not root", async ({ skip }) => {
  const { root } = await inSandbox();
  const theirs = `${root}/theirs`;
  await mkdir(theirs);
  await writeFile(`${root}/canary`, "tweet", { mode: 0o644 });
  execFileSync("chown", ["60641:60641", theirs]);
  await chmod(root, 0o755);
  const script = `import { openSandbox } from ${JSON.stringify(room)}; import { createServer } from "node:http"; import { text } from "node:stream/consumers";
    const s = await openSandbox(); const dir = ${JSON.stringify(theirs)};
    const door = createServer((_, response) => response.end("come in\\n"));
    const r = await s.start({ launch: () => ({ argv: ["bash", "-c", ${JSON.stringify(`id -u; echo x > made; cat ${root}/canary 2>&1; ${get(3129)}; trap '' TERM; sleep 1000 >&- 2>&- & echo up; wait`)}], env: {} }),
      door, cwd: dir, binds: { write: [dir], read: [], hide: [] }, signal: new AbortController().signal });
    let out = ""; for await (const chunk of r.stdout) if ((out += chunk).endsWith("up\\n")) break;
    await r.stop(50); console.log(s.kind, out, JSON.stringify(await r.ended))`;
  const args = [
    "--reuid=60641",
    "--regid=60641",
    "--clear-groups",
    process.execPath,
    "--input-type=module",
    "-e",
    script,
  ];
  const child = spawn("setpriv", args, { cwd: "/", env: { PATH: "/usr/bin:/bin" } });
  const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (/EACCES|Cannot find module/.test(complaint)) skip("the repository cannot be read by another user");
  expect(said).toMatch(/^bubblewrap 60641\ncat: .*No such file.*\ncome in\nup\n \{"code":null,"signal":"SIGKILL"/s);
  expect(await readFile(`${theirs}/made`, "utf8")).toBe("x\n");
});
