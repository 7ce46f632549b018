import { spawnSync } from "node:child_process";
import { chmod, chown, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryHome } from "../testing/index.ts";
import { agiraph, mainFile, processEnvironment } from "./testing/cli-process.ts";

const attacked = ["ran.txt", "config.json", ".env"];

test("nothing works in a home that others may write, whatever its own .env says; looking goes on with a warning", async () => {
  const { folder, home } = await homeOfAll();
  const call = (...words: string[]) => agiraph(words, { folder });
  const refusals = await Promise.all([
    call("run", "Paint the house", "--json"),
    call("serve", "--port", "0"),
    call("models"),
    call("token"),
  ]);
  expect(refusals.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
  for (const { stderr } of refusals) {
    expect(stderr).toMatch(/^✗ The home .* is not safe from other users of this machine\./m);
    expect(stderr).toContain(`- ${home} can be written by everyone (mode 0777). Run: chmod go-w ${home}`);
  }
  expect(JSON.parse(refusals[0].stdout)).toMatchObject({ error: { code: "untrusted_home" } });
  const looked = await call("ls");
  expect([looked.code, looked.stderr]).toEqual([0, expect.stringContaining(`! ${home} can be written by everyone`)]);
  // What config.json names is not even started to be examined.
  expect((await call("doctor")).stdout).toContain(`✗ home         ${home} can be written by everyone`);
  expect((await readdir(home)).sort()).toEqual([".env", "config.json"]);
});

test("the person says that such a home is to be trusted, and it is; then what config.json names is started", async () => {
  const { folder, home } = await homeOfAll();
  const env = { AGIRAPH_TRUST_HOME_MODES: "1" };
  const looked = await agiraph(["doctor"], { folder, env });
  expect([looked.stdout.includes("can be written by"), (await readdir(home)).sort()]).toEqual([false, attacked.sort()]);
  expect((await agiraph(["models"], { folder, env })).code).toBe(0);
});

test("a .env that others may read is closed to them, which is said once", async () => {
  const { folder, home } = await homeOfAll();
  await chmod(home, 0o755);
  const said = async () => (await agiraph(["models"], { folder })).stderr;
  expect([await said(), await said()]).toEqual([
    expect.stringContaining(`! ${join(home, ".env")} could be read by other users (mode 0644); it is 0600 now.`),
    expect.not.stringContaining("could be read"),
  ]);
});

test("a home that we may not read is named with whom it belongs to, whatever is asked of it", async ({ skip }) => {
  if (process.getuid?.() !== 0) skip("only root can become another user");
  const { path: folder, remove } = await temporaryHome();
  onTestFinished(remove);
  const home = join(folder, "home");
  for (const part of ["agents", "journal"]) await mkdir(join(home, part), { recursive: true });
  for (const name of ["VERSION", "home.lock.json", ".env"]) await writeFile(join(home, name), "1\n", { mode: 0o644 });
  for (const path of [folder, home]) await chmod(path, 0o755);
  const call = (...words: string[]) => {
    const as = {
      uid: STRANGER,
      gid: STRANGER,
      cwd: "/",
      env: processEnvironment({ folder }),
      encoding: "utf8",
    } as const;
    return spawnSync(process.execPath, [mainFile, ...words, "--home", home], as);
  };
  if (/Cannot find module|EACCES/.test(call("version").stderr)) skip("the program cannot be read by another user");
  const refusal = (why: string) =>
    `✗ The home ${home} cannot be read: ${why}. Choose another with --home or AGIRAPH_HOME.\n`;
  for (const name of ["VERSION", "home.lock.json", ".env", "agents"]) {
    await chmod(join(home, name), 0o600);
    const { status, stderr } = call("ls");
    expect([status, stderr]).toEqual([1, refusal(`${join(home, name)} belongs to root`)]);
    await chmod(join(home, name), 0o755);
  }
  await chown(home, STRANGER + 1, STRANGER + 1);
  await chmod(home, 0o700);
  const closed = `${home} belongs to another user (uid ${STRANGER + 1})`;
  for (const words of [["ls"], ["run", "goal"], ["show", "x"], ["resume", "x"], ["models"]])
    expect([words, call(...words).stderr]).toEqual([words, refusal(closed)]);
  expect(call("doctor").stdout).toContain(closed);
  await chown(home, STRANGER, STRANGER);
  await chmod(home, 0o000);
  expect(call("ls").stderr).toBe(refusal(`the mode of ${home} forbids it`));
});

const STRANGER = 60641;

/** A home that everybody may write, in which somebody named a program and said that the home is to be trusted. */
async function homeOfAll() {
  const { path: folder, remove } = await temporaryHome();
  onTestFinished(remove);
  const home = join(folder, ".agiraph");
  await mkdir(home);
  const command = ["/bin/sh", "-c", `echo > ${join(home, "ran.txt")}`];
  await writeFile(join(home, "config.json"), JSON.stringify({ mcp_servers: { theirs: { command } } }), { mode: 0o644 });
  await writeFile(join(home, ".env"), "AGIRAPH_TRUST_HOME_MODES=1\n", { mode: 0o644 });
  await chmod(home, 0o777);
  return { folder, home };
}
