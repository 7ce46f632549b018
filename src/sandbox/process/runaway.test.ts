import { spawn, spawnSync } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { daemon, inSandbox, lifeOf, skipped } from "../../../test/try-sandbox.ts";

const MB = 1024 ** 2;
const hasNode = spawnSync("node", ["--version"], { env: { PATH: "/usr/local/bin:/usr/bin:/bin" } }).status === 0;

describe.skipIf(skipped)(`nothing survives ${skipped}`, () => {
  test("what a command left in the background dies with it", async () => {
    const { run, file } = await inSandbox();
    const life = lifeOf(file("life"));
    const { code } = await run(`exec 9>life; ${daemon}; sleep 1000 & echo mine >&9`);
    expect([code, (await life.ended).split("\n").sort()]).toEqual([0, expect.arrayContaining(["mine"])]);
  });

  test("a command that takes too long is ended with all its processes, and what it said is kept", async () => {
    const { run, file } = await inSandbox();
    const life = lifeOf(file("life"));
    const result = await run(`exec 9>life; trap '' TERM INT HUP; ${daemon}; echo said; sleep 1000`, {
      timeoutMs: 2000,
    });
    expect({ ...result, ms: 0 }).toEqual({
      code: null,
      signal: "SIGKILL",
      output: "said\n",
      truncated: false,
      timedOut: true,
      exceeded: null,
      ms: 0,
    });
    expect(await life.ended).toBe("alive\n");
  });

  test("a stop ends it at once, and the reason of the signal is what the caller gets", async () => {
    const { run, file } = await inSandbox();
    const stop = new AbortController();
    const life = lifeOf(file("life"));
    const reason = new Error("stopped by the human");
    const running = run(`exec 9>life; ${daemon}; sleep 1000`, { signal: stop.signal });
    life.begun.then(() => stop.abort(reason));
    await expect(running).rejects.toBe(reason);
    expect(await life.ended).toBe("alive\n");
    await expect(run("true", { signal: stop.signal })).rejects.toBe(reason);
  });

  test("when we are killed, all our commands are", async () => {
    const { file } = await inSandbox();
    const life = lifeOf(file("life"));
    const folder = JSON.stringify(file(""));
    const script = `import { openSandbox } from ${JSON.stringify(room)}; const s = await openSandbox();
      s.run({ command: "exec 9>life; " + ${JSON.stringify(daemon)} + "; sleep 1000", cwd: ${folder}, binds: { write: [${folder}], read: [], hide: [] }, env: {}, timeoutMs: 1e6, signal: new AbortController().signal })`;
    const us = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    onTestFinished(() => void us.kill("SIGKILL"));
    await life.begun;
    us.kill("SIGKILL");
    expect(await life.ended).toBe("alive\n");
  });
});

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));

describe.skipIf(skipped)(`a runaway is bounded ${skipped}`, () => {
  test("in processes, each sandbox for itself", async () => {
    const { run } = await inSandbox({ limits: { processes: 40 } });
    const forkAll = `perl -e '$| = 1; my $n = 0; while ($n < 500) { my $p = fork; last unless defined $p; if (!$p) { sleep 1000 } $n++ } print "$n\\n"'`;
    const results = await Promise.all([run(forkAll), run(forkAll)]);
    for (const { output } of results) {
      expect(Number(output)).toBeGreaterThan(20);
      expect(Number(output)).toBeLessThan(40);
    }
  });

  test("a fork bomb leaves room for others, and ends", async () => {
    const { run, file } = await inSandbox({ limits: { processes: 64 } });
    const life = lifeOf(file("life"));
    const bomb = run("exec 9>life; bomb() { bomb | bomb & }; bomb 2>/dev/null; exec 2>/dev/null; sleep 1000", {
      timeoutMs: 1_000,
    });
    const other = await run("echo still here");
    expect([other.output, (await bomb).timedOut, await life.ended]).toEqual(["still here\n", true, ""]);
  });

  test("in the address space of one process", async () => {
    const { run } = await inSandbox({ limits: { addressSpaceBytes: 4 * 1024 * MB } });
    const { code, output } = await run(`perl -e 'my $n = 6 * 1024 ** 3; my $x = "a" x $n; print "got it"'`);
    expect([code, output]).toEqual([1, expect.stringMatching(/^Out of memory/)]);
  });

  test.skipIf(!hasNode)("but may reserve address space: what node's fetch runs in takes 10 GiB of it", async () => {
    const { run } = await inSandbox();
    const { code, output } = await run(
      `node -e 'const server = require("http").createServer((_, answer) => answer.end("heard")).listen(0, async () => {
        const answer = await fetch("http://127.0.0.1:" + server.address().port);
        console.log(await answer.text()); process.exit() })'`,
    );
    expect([code, output.trim()]).toEqual([0, "heard"]);
  });

  test("in memory of all processes together; what they share counts once", async () => {
    const { run } = await inSandbox({ limits: { memoryBytes: 150 * MB } });
    const hold = (each: string) => `perl -e '${each}; sleep 1000'`;
    const many = await run(`for i in 1 2 3 4; do ${hold('my $x = "a" x 60_000_000')} & done; wait`);
    expect({ ...many, ms: 0, output: "" }).toEqual({
      code: null,
      signal: "SIGKILL",
      output: "",
      truncated: false,
      timedOut: false,
      exceeded: "memory",
      ms: 0,
    });
    const shared = await run(hold('my $x = "a" x 60_000_000; for (1 .. 4) { last unless fork }'), { timeoutMs: 2000 });
    expect([shared.exceeded, shared.timedOut]).toEqual([null, true]);
  });

  test("in the size of a file", async () => {
    const { run, file } = await inSandbox({ limits: { fileBytes: MB } });
    const { code } = await run("head -c 5000000 /dev/zero > big");
    expect([code, (await stat(file("big"))).size]).toEqual([128 + 25, MB]);
  });

  test("in what its folders hold, however many files it takes", async () => {
    const { run, file } = await inSandbox({ limits: { diskBytes: 32 * MB } });
    const { exceeded } = await run("while :; do i=$((i + 1)); head -c 4000000 /dev/urandom > file$i; done");
    expect(exceeded).toBe("disk");
    expect((await readdir(file(""))).length).toBeLessThan(250);
  });

  test("by the room that must stay on the disk", async () => {
    const { box, run } = await inSandbox({ limits: { freeDiskBytes: 0 } });
    expect((await run("echo fine")).output).toBe("fine\n");
    expect(box.kind).toBe("bubblewrap");
    const { run: full } = await inSandbox({ limits: { freeDiskBytes: Number.MAX_SAFE_INTEGER } });
    await expect(full("echo fine")).rejects.toThrow("The disk is full");
  });

  test("in /tmp and in shared memory, which are not its own disk", async () => {
    const { run } = await inSandbox({ limits: { tmpBytes: MB } });
    const { output } = await run("for d in /tmp /dev/shm; do head -c 5000000 /dev/zero > $d/x; stat -c %s $d/x; done");
    expect(output.match(/No space left on device|^\d+$/gm)).toEqual([
      "No space left on device",
      String(MB),
      "No space left on device",
      String(MB),
    ]);
  });

  test("in output, of which both ends are kept", async () => {
    const { run } = await inSandbox();
    const { output, truncated } = await run("echo first; yes | head -c 50000000; echo last");
    expect([truncated, output.startsWith("first\ny\n"), output.endsWith("y\nlast\n")]).toEqual([true, true, true]);
    expect(Buffer.byteLength(output)).toBeLessThan(30_100);
    expect(output).toMatch(/… 49970011 bytes left out here …/);
    const endless = await run("yes", { timeoutMs: 500 });
    expect([endless.timedOut, endless.truncated, endless.output.length < 30_100]).toEqual([true, true, true]);
  });
});
