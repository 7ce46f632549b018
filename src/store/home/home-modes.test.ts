import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { homeProblems, requireTrustedHome, UntrustedHome } from "./home-modes.ts";

const isRoot = process.getuid?.() === 0;
const other = 60_641;

describe.skipIf(process.getuid === undefined)("a home", () => {
  test("of one's own is trusted, also before it is there, and below a sticky folder", async () => {
    const { home } = await newHome();
    expect(homeProblems(home, {})).toEqual([]);
    expect(requireTrustedHome(join(home, "not/yet"), {})).toEqual([]);
  });

  test.each([0o777, 0o1777, 0o702, ...(isRoot ? [0o770] : [])])(
    "that others may write (%o) is refused, with what to do",
    async (mode) => {
      const { home } = await newHome();
      await chmod(home, mode);
      expect(() => requireTrustedHome(home, {})).toThrow(UntrustedHome);
      expect(homeProblems(home, {})).toEqual([expect.stringContaining(`Run: chmod go-w ${home}`)]);
    },
  );

  test.each([
    "config.json",
    ".env",
    "prompts",
    "prompts/lead.md",
    "trust.json",
    "token",
    "agents",
    "journal",
    "home.lock.json",
  ])("is refused when others may write its %s", async (name) => {
    const { home } = await newHome();
    await chmod(join(home, name), 0o722);
    expect(homeProblems(home, {})).toEqual([
      `${join(home, name)} can be written by everyone (mode 0722). Run: chmod go-w ${join(home, name)}`,
    ]);
    // A user's group may be a private one; root's is not.
    if (!isRoot) return;
    await chmod(join(home, name), 0o720);
    expect(homeProblems(home, {})).toEqual([expect.stringContaining("can be written by its group (mode 0720)")]);
  });

  test.skipIf(!isRoot).each(["", "config.json", ".env", "prompts/lead.md"])(
    "is refused when %s belongs to another user",
    async (name) => {
      const { home } = await newHome();
      const path = join(home, name);
      await chown(path, other, 0);
      expect(homeProblems(home, {})).toEqual([
        `${path} belongs to another user (uid ${other}). Use a home of your own, or take it over: chown 0 ${path}`,
      ]);
    },
  );

  test.skipIf(!isRoot)("that its group may write is trusted only where nobody else is in that group", async () => {
    const { root, home } = await newHome();
    await chmod(root, 0o755);
    const users = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
    const daemon = users
      .find(([name]) => name === "daemon")
      ?.slice(2, 4)
      .map(Number);
    if (!daemon) return;
    const [uid = 0, gid = 0] = daemon;
    const script = `import { homeProblems } from ${JSON.stringify(import.meta.resolve("./home-modes.ts"))};
      console.log(homeProblems(${JSON.stringify(home)}, {}).length)`;
    const problems = async (group: number) => {
      await chown(home, uid, group);
      await chmod(home, 0o775);
      const as = { uid, gid, cwd: "/", env: { PATH: "/usr/bin:/bin" } };
      return (await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], as)).stdout.trim();
    };
    expect([await problems(gid), await problems(0), await problems(other)]).toEqual(["0", "1", "1"]);
  });

  test("that is a symlink is judged where the link lies and where it leads", async () => {
    const { root, home } = await newHome();
    await mkdir(join(root, "links"));
    const link = join(root, "links/home");
    await symlink(home, link);
    expect(homeProblems(link, {})).toEqual([]);
    await chmod(join(root, "links"), 0o777);
    expect(homeProblems(link, {})).toEqual([expect.stringContaining(`chmod go-w ${join(root, "links")}`)]);
    // In a sticky folder nobody else can replace the link.
    await chmod(join(root, "links"), 0o1777);
    expect(homeProblems(link, {})).toEqual([]);
    await chmod(home, 0o777);
    expect(homeProblems(link, {})).toEqual([expect.stringContaining(`chmod go-w ${home}`)]);
  });

  test("below a folder in which others may replace it is refused; so is a file of it that is a link to such a place", async () => {
    const { root, home } = await newHome();
    await chmod(root, 0o777);
    expect(homeProblems(home, {})).toEqual([expect.stringContaining(`chmod go-w ${root}`)]);
    await chmod(root, 0o755);
    await mkdir(join(root, "dotfiles"));
    await chmod(join(root, "dotfiles"), 0o777);
    await writeFile(join(root, "dotfiles/config.json"), "{}");
    await rm(join(home, "config.json"));
    await symlink("../dotfiles/config.json", join(home, "config.json"));
    expect(homeProblems(home, {})).toEqual([expect.stringContaining(`chmod go-w ${join(root, "dotfiles")}`)]);
  });

  test("has its .env and token closed to other readers, which is said once", async () => {
    const { home } = await newHome();
    for (const name of [".env", "token"]) await chmod(join(home, name), 0o644);
    expect(requireTrustedHome(home, {})).toEqual(
      [".env", "token"].map((name) => `${join(home, name)} could be read by other users (mode 0644); it is 0600 now.`),
    );
    expect([(await stat(join(home, ".env"))).mode & 0o777, await readFile(join(home, ".env"), "utf8")]).toEqual([
      0o600,
      "x",
    ]);
    expect(requireTrustedHome(home, {})).toEqual([]);
  });

  test("is trusted as it is where the environment says so", async () => {
    const { home } = await newHome();
    await chmod(home, 0o777);
    await chmod(join(home, ".env"), 0o666);
    expect(requireTrustedHome(home, { AGIRAPH_TRUST_HOME_MODES: "1" })).toEqual([]);
    expect(() => requireTrustedHome(home, { AGIRAPH_TRUST_HOME_MODES: "0" })).toThrow("AGIRAPH_TRUST_HOME_MODES=1");
  });
});

async function newHome() {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-modes-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const home = join(root, "home");
  for (const folder of ["", "prompts", "agents", "journal"]) await mkdir(join(home, folder), { mode: 0o755 });
  for (const name of ["config.json", ".env", "prompts/lead.md", "trust.json", "token", "home.lock.json"])
    await writeFile(join(home, name), "x", { mode: name === ".env" || name === "token" ? 0o600 : 0o644 });
  return { root, home };
}
