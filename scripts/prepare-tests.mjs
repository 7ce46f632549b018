import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

// Before the tests: what they need of this machine. Installs it where it may (root, Debian or Ubuntu), and says what is
// missing and which tests will therefore be skipped. It never fails the run: a skipped test says so itself.

const needs = [
  { program: "bwrap", package: "bubblewrap", skips: "the sandbox's real confinement, bash in it" },
  { program: "strace", package: "strace", skips: "the disk's injected failures" },
  { program: "chromium", package: "chromium", skips: "the page in a real browser" },
  { program: "tmux", package: "tmux", skips: "meshes in tmux" },
  { program: "/usr/bin/python3", package: "python3", skips: "a Python program behind the sandbox's proxy" },
  { program: "setpriv", package: "util-linux", skips: "the sandbox as root" },
  { program: "perl", package: "perl-base", skips: "the sandbox as root" },
  { program: "/usr/bin/pg_ctlcluster", package: "postgresql", skips: "agents in PostgreSQL" },
];

const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
const missing = () => needs.filter(({ program }) => !isThere(program));

const lacking = process.platform === "linux" ? missing() : [];
if (lacking.length > 0) install(lacking.map((need) => need.package));
for (const { program, package: name, skips } of process.platform === "linux" ? missing() : []) {
  console.log(`${program} is missing (Debian package ${name}), so these tests are skipped: ${skips}.`);
}

await import("./prepare-agents.mjs");

function install(packages) {
  if (process.getuid?.() !== 0) {
    console.log(`To run all tests: sudo apt-get install ${packages.join(" ")}`);
    return;
  }
  if (!isThere("apt-get")) return;
  console.log(`Installing for the tests: ${packages.join(", ")} …`);
  const wanted = ["install", "-y", "-qq", "--no-install-recommends", ...packages];
  if (apt(wanted) || (apt(["update", "-qq"]) && apt(wanted))) return;
  const { stderr } = spawnSync("apt-get", wanted, { env, encoding: "utf8", timeout: 120_000 });
  console.log(`apt-get could not install them: ${stderr?.trim().split("\n").at(-1) ?? "no reason given"}`);
}

function apt(args) {
  try {
    execFileSync("apt-get", args, { env, stdio: "ignore", timeout: 300_000 });
    return true;
  } catch {
    return false;
  }
}

function isThere(program) {
  const places = program.startsWith("/")
    ? [program]
    : (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, program));
  return places.some((place) => existsSync(place) && isExecutable(place));
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
