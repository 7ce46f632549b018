import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { skipped } from "../../../test/try-sandbox.ts";

test.skipIf(skipped)(
  `an ordinary user's layout is mounted before bubblewrap starts, read-only, and no rights are left ${skipped}`,
  async () => {
    const root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-test-")));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const project = join(root, "project");
    await mkdir(project);
    for (let i = 0; i < 40; i++) await writeFile(join(project, `f${i}`), `of ${i}`);
    await writeFile(join(project, ".env"), "SECRET");
    await mkdir(join(root, "desk"));
    for (const folder of [root, project, join(root, "desk")]) await chmod(folder, 0o777);

    const uid = process.getuid?.() === 0 ? 60641 : process.getuid?.();
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script(root)], {
      uid,
    });
    expect(stdout.trim().split("\n")).toEqual([
      "42 names",
      "of 7",
      "of 7",
      "cannot write a file, cannot make one",
      "no .env",
      "0000000000000000",
      "laid out outside",
      "code 0, names on the command line: false",
    ]);
  },
);

const command = `ls -A | wc -l | sed 's/$/ names/'; cat f7; echo; cat link; echo
echo x 2>/dev/null >f7 && echo wrote || printf 'cannot write a file, '
touch new 2>/dev/null && echo made || echo cannot make one
cat .env 2>/dev/null || echo no .env
sed -n 's/^CapEff:\\t//p' /proc/self/status
grep -q " /1 $PWD " /proc/self/mountinfo && echo laid out outside`;

const script = (
  root: string,
) => `import { readFileSync } from "node:fs"; import { openSandbox } from ${JSON.stringify(room)};
  const [desk, project] = [${JSON.stringify(join(root, "desk"))}, ${JSON.stringify(join(root, "project"))}];
  const parts = Array.from({ length: 40 }, (_, i) => ({ path: "f" + i, kind: "file", target: null }));
  parts.push({ path: "link", kind: "link", target: "f7" }, { path: "folder", kind: "empty", target: null });
  let commandLine = "";
  const sandbox = await openSandbox();
  const binds = { write: [desk], read: [], hide: [], laidOut: [{ at: project, parts }] };
  const { output, code } = await sandbox.run({ command: ${JSON.stringify(command)}, cwd: project, binds, env: {},
    timeoutMs: 60_000, signal: new AbortController().signal,
    onStart: (pid) => (commandLine = readFileSync("/proc/" + pid + "/cmdline", "utf8")) });
  console.log(output.trimEnd() + "\\ncode " + code + ", names on the command line: " + commandLine.includes("/f7"));`;

const room = fileURLToPath(new URL("../index.ts", import.meta.url));
