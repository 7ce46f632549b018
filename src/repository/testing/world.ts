import { type ExecFileSyncOptions, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { AgentRepository } from "../agent-repository.ts";
import { Git } from "../git.ts";
import type { ReceiveLimits } from "../limits.ts";
import { inspectRepository, type PersonRepository } from "../person-repository.ts";

/** A person's repository with two commits, and a folder for an agent. */
export class World implements AsyncDisposable {
  readonly path: string;
  readonly git: Git;
  readonly person: string;
  readonly #remove: () => Promise<void>;

  private constructor(path: string, remove: () => Promise<void>) {
    this.path = path;
    this.#remove = remove;
    this.person = join(path, "person");
    mkdirSync(join(path, "temporary"));
    mkdirSync(join(path, "own-home"));
    this.git = new Git({ env: this.env, temporary: join(path, "temporary") });
  }

  static async open(): Promise<World> {
    const home = await temporaryHome();
    const world = new World(home.path, () => home.remove());
    world.init(world.person);
    world.write("person/readme.md", "one\ntwo\nthree\n");
    world.write("person/src/main.js", "main();\n");
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "first");
    world.write("person/src/other.js", "other();\n");
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "second");
    return world;
  }

  /** Of the person: their config is in a home of its own. */
  get env(): Record<string, string> {
    return {
      PATH: `${join(this.path, "bin")}:${process.env.PATH ?? ""}`,
      HOME: join(this.path, "own-home"),
      LC_ALL: "C",
    };
  }

  init(folder: string, ...options: string[]): void {
    execFileSync("git", ["init", "-q", "-b", "main", ...options, folder], { env: this.env });
    this.plain(relative(this.path, folder), "config", "user.name", "Pat");
    this.plain(relative(this.path, folder), "config", "user.email", "pat@example.com");
  }

  /** git as a person runs it, with everything that their config says. */
  plain(folder: string, ...args: string[]): string {
    return this.plainWith(folder, {}, ...args);
  }

  plainWith(folder: string, options: ExecFileSyncOptions, ...args: string[]): string {
    const env = { ...this.env, ...(options.env ?? {}) };
    const cwd = join(this.path, folder);
    const output = execFileSync("git", args, { stdio: ["pipe", "pipe", "pipe"], ...options, cwd, env });
    return output.toString().trim();
  }

  sh(folder: string, script: string): string {
    const options = { cwd: join(this.path, folder), env: this.env, stdio: ["ignore", "pipe", "pipe"] as const };
    return execFileSync("/bin/sh", ["-c", script], { ...options, stdio: ["ignore", "pipe", "pipe"] })
      .toString()
      .trim();
  }

  write(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), content);
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), "utf8");
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  async inspect(folder = "person"): Promise<PersonRepository> {
    const found = await inspectRepository(join(this.path, folder), this.git);
    if (!found.ok) throw new Error(found.reason);
    return found.repository;
  }

  async reasonAgainst(folder = "person"): Promise<string> {
    const found = await inspectRepository(join(this.path, folder), this.git);
    return found.ok ? "(not refused)" : found.reason;
  }

  agent(limits: Partial<ReceiveLimits> = {}): AgentRepository {
    return AgentRepository.open(join(this.path, "agent/repo.git"), this.git, limits);
  }

  async created(limits: Partial<ReceiveLimits> = {}): Promise<{ agent: AgentRepository; base: string }> {
    const person = await this.inspect();
    const agent = this.agent(limits);
    const { base } = await agent.create(person, person.head, BRANCH);
    return { agent, base };
  }

  /** A plain clone of the agent's repository, as a worker might have made it. */
  clone(name: string, commit = BRANCH): string {
    execFileSync("git", ["clone", "-q", "--shared", "agent/repo.git", name], { cwd: this.path, env: this.env });
    this.plain(name, "checkout", "-q", "--detach", commit === BRANCH ? `origin/${BRANCH}` : commit);
    this.plain(name, "config", "user.name", "Alice");
    this.plain(name, "config", "user.email", "alice@example.com");
    return join(this.path, name);
  }

  /** Commits everything in a clone and bundles it; the path of the bundle. */
  commit(name: string, message: string, since = `origin/${BRANCH}`): { commit: string; bundle: string } {
    this.plain(name, "add", "-A");
    this.plain(name, "commit", "-q", "--allow-empty", "-m", message);
    return this.bundle(name, "HEAD", since);
  }

  bundle(name: string, rev = "HEAD", since = `origin/${BRANCH}`): { commit: string; bundle: string } {
    const bundle = join(this.path, `${name}.bundle`);
    this.plain(name, "bundle", "create", "-q", bundle, rev, `^${since}`);
    return { commit: this.plain(name, "rev-parse", rev), bundle };
  }

  /** Every file of a folder with its content, by hash; links by their target. */
  state(folder: string): Record<string, string> {
    const found: Record<string, string> = {};
    const root = join(this.path, folder);
    const visit = (at: string) => {
      for (const name of readdirSync(at).sort()) {
        const path = join(at, name);
        const stats = lstatSync(path);
        if (stats.isDirectory()) visit(path);
        const mode = (stats.mode & 0o777).toString(8);
        const times = `${stats.mtimeMs}`;
        found[relative(root, path)] = stats.isDirectory()
          ? `folder ${mode}`
          : `${stats.isSymbolicLink() ? readlinkSync(path) : hashOf(path)} ${mode} ${times}`;
      }
    };
    visit(root);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#remove();
  }
}

export const BRANCH = "agiraph/quiet-river";

function hashOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
