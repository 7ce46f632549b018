import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { inSandbox, lifeOf } from "../../../test/try-sandbox.ts";

test("a command without a sandbox ends when we are killed, also what ignores signals and what killed its siblings", async () => {
  const { file } = await inSandbox({ unsafe: true });
  const life = lifeOf(file("life"));
  const folder = JSON.stringify(file(""));
  // It first kills every other process of its group: nothing in there can be relied on.
  const command = `exec 9>life; trap '' TERM HUP INT
for stat in /proc/[0-9]*/stat; do
  read -r pid _ _ _ group _ <"$stat" && [ "$group" = $$ ] && [ "$pid" != $$ ] && kill -KILL "$pid"
done 2>&-
(echo alive >&9; exec sleep 1000) & sleep 1000`;
  const script = `import { openSandbox } from ${JSON.stringify(room)}; const s = await openSandbox({ unsafe: true });
    await s.run({ command: ${JSON.stringify(command)}, env: {}, timeoutMs: 1e6, cwd: ${folder},
      binds: { write: [${folder}], read: [], hide: [] }, signal: new AbortController().signal })`;
  const us = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(() => void us.kill("SIGKILL"));
  await life.begun;
  us.kill("SIGKILL");
  expect(await life.ended).toBe("alive\n");
});

test("a command without a sandbox leaves no watcher behind when it is over", async () => {
  const { run } = await inSandbox({ unsafe: true });
  const before = childrenOf(process.pid);
  expect((await run("echo hello")).output).toBe("hello\n");
  // Those of other tests in this process may end meanwhile.
  await expect.poll(() => childrenOf(process.pid).filter((pid) => !before.includes(pid))).toEqual([]);
});

function childrenOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  } catch {
    return [];
  }
}

const room = fileURLToPath(new URL("../open-sandbox.ts", import.meta.url));
