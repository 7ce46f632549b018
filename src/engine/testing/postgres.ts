import { execFile, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const PASSWORD = "of-the-test";

/** A PostgreSQL of the test's own, reached by a socket in its folder: no port, and nothing of the machine's. */
export class Postgres implements AsyncDisposable {
  readonly dir: string;
  readonly #bin: string;

  private constructor(dir: string, bin: string) {
    this.dir = dir;
    this.#bin = bin;
  }

  static async start(): Promise<Postgres> {
    const bin = await programs();
    if (bin === undefined) throw new Error("PostgreSQL is not installed");
    const postgres = new Postgres(await mkdtemp(join(tmpdir(), "agiraph-pg-")), bin);
    const { dir } = postgres;
    await writeFile(join(dir, "password"), PASSWORD);
    const { uid, gid } = await runner();
    await chown(dir, uid, gid);
    await chown(join(dir, "password"), uid, gid);
    const auth = ["--auth=scram-sha-256", "--username=agiraph", `--pwfile=${join(dir, "password")}`];
    await postgres.#do("initdb", ["-D", join(dir, "data"), "--no-sync", "--locale=C.UTF-8", ...auth]);
    await postgres.up();
    return postgres;
  }

  url(database = "postgres", password = PASSWORD): string {
    return `postgres://agiraph:${password}@localhost/${database}?host=${encodeURIComponent(this.dir)}`;
  }

  async up(): Promise<void> {
    const settings = `-c listen_addresses='' -c unix_socket_directories='${this.dir}' -c max_connections=30 -c shared_buffers=16MB`;
    await this.#do("pg_ctl", [
      "-D",
      join(this.dir, "data"),
      "-w",
      "-l",
      join(this.dir, "log"),
      "-o",
      settings,
      "start",
    ]);
  }

  /** As after a power failure. */
  async down(): Promise<void> {
    await this.#do("pg_ctl", ["-D", join(this.dir, "data"), "-w", "-m", "immediate", "stop"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down().catch(() => {});
    await rm(this.dir, { recursive: true, force: true });
  }

  /** It refuses to run as root. */
  async #do(program: string, args: readonly string[]): Promise<void> {
    const options: SpawnOptions = { cwd: this.dir, stdio: "ignore", ...(await runner()) };
    const child = spawn(join(this.#bin, program), args, options);
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`${program} ended with ${code}`);
  }
}

/** Why the tests of the engine are skipped here, or an empty string. */
export const withoutPostgres = (await programs()) === undefined ? "(skipped: PostgreSQL is not installed)" : "";

async function runner(): Promise<{ uid: number; gid: number }> {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid !== 0) return own;
  const idOf = async (what: string) => Number((await run("id", [what, "postgres"])).stdout);
  return { uid: await idOf("-u"), gid: await idOf("-g") };
}

async function programs(): Promise<string | undefined> {
  const root = "/usr/lib/postgresql";
  const versions = (await readdir(root).catch(() => [])).toSorted((one, other) => Number(one) - Number(other));
  const newest = versions.at(-1);
  return newest === undefined ? undefined : join(root, newest, "bin");
}
