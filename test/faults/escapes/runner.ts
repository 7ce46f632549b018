import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { openSandbox, type Sandbox } from "../../../src/sandbox/index.ts";
import { type Attack, controlOf, type Findings, type Job, type Outcomes } from "./attack.ts";
import { driver, prelude } from "./kit.ts";
import { openWorld, type World } from "./world.ts";

/**
 * A process of its own, so that it can be root's or an ordinary user's: makes a world with things worth stealing, runs
 * the attacks of a job in the sandbox and their controls outside, and prints what it found. Started by `escapes.ts`.
 */
const job: Job = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(await findings(job)));
process.exit(0);

async function findings({ attacks, as, allow, withControl }: Job): Promise<Findings> {
  await using world = await openWorld();
  const sandbox = await openSandbox({ lookup: async () => [{ address: "127.0.0.1", family: 4 }] });
  if (sandbox.kind !== "bubblewrap") return { failure: sandbox.about, inside: {}, control: {}, changed: [] };
  const kit = makeKit(world, attacks);
  const network = allow
    ? { network: { allow: allow.map((host) => host.replace("PORT", world.env.OPEN_PORT ?? "")) } }
    : {};
  const place = {
    cwd: world.desk,
    binds: { ...world.binds, read: [...world.binds.read, kit] },
    // An attack that stops the first process stops everything inside.
    signal: AbortSignal.timeout(40_000),
    ...network,
  };
  const inside = await (as === "command" ? byCommand : byProgram)(sandbox, kit, world.env, place);
  const changed = world.changes();
  const hasControls = attacks.some(({ control }) => !control?.inside);
  const control = withControl && hasControls ? await outside(kit, world) : {};
  return { inside: outcomesIn(inside), control: outcomesIn(control), changed };
}

function makeKit(world: World, attacks: readonly Attack[]): string {
  const kit = join(world.base, "kit");
  mkdirSync(kit);
  const isRoot = process.getuid?.() === 0;
  const inside = attacks.flatMap(({ name, code, control }) => [
    { name, code, env: {} },
    ...(control?.inside ? [{ name: controlOf(name), code: control.code ?? code, env: control.env ?? {} }] : []),
  ]);
  const controls = attacks
    .filter(({ control }) => !control?.inside && (isRoot || !control?.root))
    .map(({ name, code, control }) => ({ name, code: control?.code ?? code, env: control?.env ?? {} }));
  const files = {
    "driver.py": driver,
    "prelude.py": prelude,
    inside: JSON.stringify(inside),
    controls: JSON.stringify(controls),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(kit, name), content);
  chmodSync(kit, 0o755);
  return kit;
}

type Place = Pick<Parameters<Sandbox["run"]>[0], "cwd" | "binds" | "signal" | "network">;

async function byCommand(sandbox: Sandbox, kit: string, env: Record<string, string>, place: Place): Promise<string> {
  const command = `/usr/bin/python3 ${kit}/driver.py inside`;
  return (await sandbox.run({ ...place, command, env, timeoutMs: 30_000, maxOutputBytes: 1_000_000 })).output;
}

async function byProgram(sandbox: Sandbox, kit: string, env: Record<string, string>, place: Place): Promise<string> {
  const launch = () => ({ argv: ["/usr/bin/python3", `${kit}/driver.py`, "inside"] as [string, ...string[]], env });
  const running = await sandbox.start({ ...place, launch });
  const [out, err] = await Promise.all([text(running.stdout), text(running.stderr), running.ended]);
  return `${out}\n${err}`;
}

/** In mount, host name and ipc namespaces of its own where we are root, so that no control harms this machine. */
async function outside(kit: string, world: World): Promise<string> {
  const own = process.getuid?.() === 0 ? ["unshare", "--mount", "--uts", "--propagation", "private", "--"] : [];
  const [program = "", ...args] = [...own, "/usr/bin/python3", `${kit}/driver.py`, "controls"];
  const env = { ...process.env, ...world.env, OUTSIDE: "1" };
  const child = spawn(program, args, { cwd: world.desk, env, stdio: ["ignore", "pipe", "inherit"] });
  return text(child.stdout);
}

function outcomesIn(said: string | Outcomes): Outcomes {
  if (typeof said !== "string") return said;
  const lines = said.split("\n").filter((line) => line.startsWith("@@"));
  const found = lines.map((line) => JSON.parse(line.slice(2)) as { name: string; escaped: boolean; said: string });
  if (found.length === 0) throw new Error(`The attacks never ran: ${said.slice(0, 2000)}`);
  return Object.fromEntries(found.map(({ name, ...outcome }) => [name, outcome]));
}
