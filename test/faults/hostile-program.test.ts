import { once } from "node:events";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import type { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../src/testing/within.ts";
import { deafDaemon, inSandbox, lifeOf, skipped, whole } from "../try-sandbox.ts";

/**
 * An agent of somebody else's, gone wrong: it has its own files, its own words, a door and one listed port, and tries
 * for more. Each attempt stands beside the same thing done where it is allowed, which works: else nothing is proven.
 */
const MB = 1024 ** 2;
const fine = { code: 0, signal: null, exceeded: null };
const killed = { code: null, signal: "SIGKILL", exceeded: null };

async function listen(server: Server, where: object): Promise<Server> {
  server.listen(where);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return server;
}

const portOf = (server: Server) => (server.address() as { port: number }).port;

/** Looks now and then, each time with the next part of what is said in hand. */
async function bytesOf(stream: Readable, look: () => void): Promise<number> {
  let bytes = 0;
  let next = 20 * MB;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes < next) continue;
    next += 20 * MB;
    look();
  }
  return bytes;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Of what comes by pipes, what is held: not what nobody holds any more and is yet to be collected, as in the process's size. */
function bytesHeld(): number {
  // Twice: what the first finds is given back beside it, and counts until the second.
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}

describe.skipIf(skipped)(`a hostile program ${skipped}`, () => {
  test("reads nothing outside of its files, by no way", async () => {
    const { root, start, file } = await inSandbox();
    for (const path of [`${root}/canary`, file("own")]) await writeFile(path, "tweet\n", { mode: 0o644 });
    const ways = (path: string) =>
      [
        `cat ${path}`,
        `ln -s ${path} l; cat l`,
        `cat /proc/self/root${path}`,
        `cat /proc/1/root${path}`,
        `cp ${path} c; cat c`,
      ]
        .map((way) => `(${way}) 2>/dev/null`)
        .join("; rm -f l c; ");
    const mine = await whole(await start(ways(file("own"))));
    const outside = await whole(
      await start(`${ways(`${root}/canary`)}; cat /etc/shadow 2>/dev/null; ls -A ${root} /root /home`),
    );
    expect([mine.out, outside.out]).toEqual([
      "tweet\n".repeat(mine.out.length / 6),
      expect.not.stringMatching(/tweet|root:\*/),
    ]);
    expect(mine.out.length).toBeGreaterThanOrEqual(4 * 6);
    expect(outside.out).toContain(`${root}:\ndesk\n`);
  });

  test("writes nothing outside of its folders, nor into what it may read", async () => {
    const { root, start, file } = await inSandbox();
    await writeFile(`${root}/theirs`, "theirs", { mode: 0o666 });
    const places = [`${root}/theirs`, "/etc/new", "/usr/new", "/new", "/proc/sys/kernel/printk", file("own")];
    // Where it sees a folder that is not its own it sees a private one in memory: what it puts there is nowhere else.
    const { out } = await whole(
      await start(
        `echo mine > ${root}/new; for f in ${places.join(" ")}; do (echo mine > $f) 2>/dev/null && echo $f; done; exit 0`,
        {
          read: [`${root}/theirs`],
        },
      ),
    );
    expect(out).toBe(`${file("own")}\n`);
    expect([await readFile(`${root}/theirs`, "utf8"), await readdir(root)]).toEqual(["theirs", ["desk", "theirs"]]);
  });

  test("floods us with words: all of them come where they are taken, and they fill nothing of ours", async () => {
    const { start } = await inSandbox();
    const before = bytesHeld();
    const running = await start("head -c 300000000 /dev/zero & head -c 300000000 /dev/zero >&2; wait");
    let most = 0;
    const look = () => (most = Math.max(most, bytesHeld()));
    const taken = await Promise.all([bytesOf(running.stdout, look), bytesOf(running.stderr, look), running.ended]);
    expect(taken).toEqual([300_000_000, 300_000_000, fine]);
    expect(most).toBeGreaterThan(0);
    expect(most - before).toBeLessThan(8 * MB);
  });

  test("and where nobody takes them, it waits", async () => {
    const { start, file } = await inSandbox();
    const before = bytesHeld();
    const life = lifeOf(file("life"));
    // It says how much it got rid of once nobody has taken more for a second.
    const flood = `use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK); open my $life, ">", "life"; $life->autoflush; my $said = 0;
      while (1) { my $n = syswrite STDOUT, "x" x 65536; if (defined $n) { $said += $n; next }
        my $out = ""; vec($out, 1, 1) = 1; next if select undef, $out, undef, 1; print $life $said; sleep 1000 }`;
    const running = await start(`perl -MIO::Handle -e '${flood}'`);
    const [chunk] = await life.begun;
    const said = Number(String(chunk));
    // What the pipe holds; more where we came to read before that second was over.
    expect(said).toBeGreaterThanOrEqual(64 * 1024);
    expect(said).toBeLessThan(4 * MB);
    expect(bytesHeld() - before).toBeLessThan(8 * MB);
    await running.stop(0);
    // It is not deaf: the first signal may end it before the second comes.
    expect([killed, { ...killed, code: 143, signal: null }]).toContainEqual(await running.ended);
  });

  test("forks without end: it has its share, the others have theirs, and it ends", async () => {
    const { start, file } = await inSandbox({ limits: { processes: 64 } });
    const life = lifeOf(file("life"));
    const bomb = await start(
      "exec 9>life; trap '' TERM; echo alive >&9; bomb() { bomb | bomb & }; bomb 2>/dev/null; exec 2>/dev/null; sleep 1000",
    );
    await life.begun;
    const other = await start("for i in $(seq 20); do sleep 0.1 & done; wait; echo still here");
    expect(await whole(other)).toEqual({ out: "still here\n", err: "", ...fine });
    await bomb.stop(50);
    expect([await bomb.ended, await life.ended]).toEqual([killed, "alive\n"]);
  });

  test.each([
    ["is deaf", `trap '' TERM INT HUP QUIT; echo alive >&9; while :; do sleep 1000; done`],
    ["stops itself", "echo alive >&9; kill -STOP $$"],
    ["closes its streams", "exec <&- >&- 2>&-; trap '' TERM; echo alive >&9; sleep 1000"],
    ["hides in daemons", `trap '' TERM; ${deafDaemon}; ${deafDaemon}; sleep 1000`],
    ["kills whom it can", "trap '' TERM; echo alive >&9; kill -KILL 1; kill -KILL -1; sleep 1000"],
  ])("does not outlive a stop: it %s", async (_, script) => {
    const { start, file } = await inSandbox();
    const life = lifeOf(file("life"));
    const running = await start(`exec 9>life; ${script}`);
    await life.begun;
    await within(1_100, running.stop(100));
    expect(await life.ended).toMatch(/^(alive\n)+$/);
    // Who obeys is asked once and gone.
    const polite = await start("echo up; exec sleep 1000");
    await once(polite.stdout, "data");
    await polite.stop(20_000);
    expect(await polite.ended).toEqual({ ...fine, code: 143 });
  });

  test("reaches no host and no port but those listed, nor sockets that have no file", async () => {
    const { start, root } = await inSandbox();
    const hello = () => createServer((socket) => void socket.on("error", () => {}).end("hello\n"));
    const [listed, other] = [await listen(hello(), tcp), await listen(hello(), { ...tcp, host: "0.0.0.0" })];
    const name = `agiraph-test-${process.pid}`;
    await listen(hello(), { path: `\0${name}` });
    await listen(hello(), { path: `${root}/beside.sock` });
    const dial = (host: string, port: number) =>
      `echo "${host} $(timeout 3 cat < /dev/tcp/${host}/${port} 2>&1 | tail -c 6)"`;
    const unix = (path: string) =>
      `perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => ${path}); print $s ? <$s> : "refused\\n"'`;
    const own = `perl -MIO::Socket::UNIX -e 'my $l = IO::Socket::UNIX->new(Local => "own", Listen => 1); my $s = IO::Socket::UNIX->new(Peer => "own"); print $s ? "hello\\n" : "refused\\n"'`;
    const { out } = await whole(
      await start(
        [
          dial("127.0.0.1", portOf(listed)),
          dial("127.0.0.1", portOf(other)),
          dial(address, portOf(other)),
          dial("1.1.1.1", 53),
          own,
          unix(`"\\0${name}"`),
          unix(`"${root}/beside.sock"`),
        ].join("\n"),
        { network: { allow: [`127.0.0.1:${portOf(listed)}`] } },
      ),
    );
    const lines = out.trimEnd().split("\n");
    expect([lines[0], lines.filter((line) => line.includes("hello")).length, lines.slice(-3)]).toEqual([
      "127.0.0.1 hello",
      2,
      ["hello", "refused", "refused"],
    ]);
  });

  test("has power over its own processes and no others", async () => {
    const { start } = await inSandbox();
    const victim = await start("echo up; read -r _; echo unharmed");
    await once(victim.stdout, "data");
    const attach = process.arch === "arm64" ? 117 : 101;
    const tries = `use strict; $| = 1; my $own = fork // die; if (!$own) { sleep 1000 }
      for my $pid (${process.pid}, ${victim.pid}, $own) { printf "%s %s\\n", syscall(${attach}, 16, $pid, 0, 0) == 0 ? "traced" : "not", kill("KILL", $pid) ? "killed" : "not" }`;
    const { out } = await whole(await start(`perl -e '${tries}'; ls /proc | grep -c '^[0-9]'; kill -KILL -1; echo on`));
    expect(out).toMatch(/^not not\nnot not\nnot killed\n\d\n/);
    victim.stdin.end("\n");
    expect(await whole(victim)).toEqual({ out: "unharmed\n", err: "", ...fine });
  });

  test("fills its disk and its memory up to their bounds, and is ended", async () => {
    const { start, file } = await inSandbox({ limits: { diskBytes: 32 * MB, tmpBytes: MB } });
    const fill = (files: number) =>
      `for i in $(seq ${files}); do head -c 4000000 /dev/urandom > file$i || exit 1; done; echo filled`;
    expect((await whole(await start(fill(2)))).out).toBe("filled\n");
    expect(await (await start(fill(100_000))).ended).toEqual({ ...killed, exceeded: "disk" });
    const left = await readdir(file(""));
    expect(left.length).toBeLessThan(250);
    await expect(start("echo again")).rejects.toThrow("hold more than");
    for (const name of left) await rm(file(name));
    const tmp = await whole(
      await start("for n in 500000 5000000; do head -c $n /dev/zero > /tmp/x; stat -c %s /tmp/x; done"),
    );
    expect(tmp.out).toBe(`500000\n${MB}\n`);
  });
});

const tcp = { host: "127.0.0.1", port: 0 };

/** One of this machine's own, if it has any beside loopback. */
const address =
  Object.values((await import("node:os")).networkInterfaces())
    .flat()
    .find((each) => each?.family === "IPv4" && !each.internal)?.address ?? "127.0.0.2";
