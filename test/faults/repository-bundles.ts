import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { BRANCH, type World } from "../../src/repository/testing/world.ts";

export interface RawEntry {
  mode?: string;
  name: string | Buffer;
  id: string;
}

/** Makes objects and bundles byte by byte, as git itself would not. */
export class Forge {
  readonly #world: World;
  readonly #folder: string;
  readonly #made: string[] = [];
  readonly base: string;

  /** A clone of the agent's repository. */
  constructor(world: World, folder = "forge") {
    this.#world = world;
    this.#folder = folder;
    world.clone(folder);
    this.base = world.plain(folder, "rev-parse", `origin/${BRANCH}`);
  }

  /** What was made before is left out of the next bundle. */
  begin(): void {
    this.#made.length = 0;
  }

  /** Without git, which would take minutes for thousands of them. */
  object(type: string, content: Buffer | string): string {
    const body = Buffer.from(content);
    const whole = Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]);
    const id = createHash("sha1").update(whole).digest("hex");
    const folder = join(this.#world.path, this.#folder, ".git/objects", id.slice(0, 2));
    mkdirSync(folder, { recursive: true });
    const path = join(folder, id.slice(2));
    if (!existsSync(path)) writeFileSync(path, deflateSync(whole, { level: 1 }));
    this.#made.push(id);
    return id;
  }

  blob(content: Buffer | string = "x\n"): string {
    return this.object("blob", content);
  }

  /** In the order that is given: git wants them sorted. */
  tree(...entries: RawEntry[]): string {
    const parts = entries.flatMap(({ mode = "100644", name, id }) => [
      Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(id, "hex")]),
    ]);
    return this.object("tree", Buffer.concat(parts));
  }

  folder(name: string, id: string): RawEntry {
    return { mode: "40000", name, id };
  }

  /** So many folders, one in the other. */
  nest(tree: string, depth: number, name = "d"): string {
    let top = tree;
    for (let level = 0; level < depth; level++) top = this.tree(this.folder(name, top));
    return top;
  }

  link(name: string, target: string | Buffer): RawEntry {
    return { mode: "120000", name, id: this.blob(target) };
  }

  commit(tree: string, options: { parents?: string[]; message?: string; author?: string } = {}): string {
    const {
      parents = [this.base],
      message = "forged\n",
      author = "Alice <alice@example.com> 1700000000 +0000",
    } = options;
    const lines = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`), `author ${author}`];
    return this.object("commit", [...lines, `committer ${author}`, "", message].join("\n"));
  }

  /** A commit on the base with these files beside nothing else. */
  committed(...entries: RawEntry[]): string {
    return this.commit(this.tree(...entries));
  }

  /** Everything that was made here, under any header. */
  bundle(refs: Record<string, string>, options: { header?: string; ids?: string[]; pack?: Buffer } = {}): string {
    const lines = Object.entries(refs).map(([name, id]) => `${id} ${name}`);
    const header = options.header ?? `# v2 git bundle\n-${this.base} base\n${lines.join("\n")}\n\n`;
    const pack = options.pack ?? this.pack(options.ids);
    const path = join(this.#world.path, `${this.#folder}.bundle`);
    writeFileSync(path, Buffer.concat([Buffer.from(header, "latin1"), pack]));
    return path;
  }

  pack(ids: readonly string[] = this.#made): Buffer {
    const input = `${[...new Set(ids)].join("\n")}\n`;
    return execFileSync("git", ["-c", "core.bigFileThreshold=1m", "pack-objects", "--stdout", "-q"], {
      cwd: join(this.#world.path, this.#folder),
      env: this.#world.env,
      input,
      maxBuffer: 1 << 30,
    });
  }
}

/** A pack of two objects: a file of 1 MiB, and one that is so many times the first, in some kilobytes. */
export function deltaPack(times: number): Buffer {
  const base = Buffer.alloc(1 << 20, "a");
  const delta = Buffer.concat([
    varint(base.length),
    varint(base.length * times),
    // Copies 0x100000 bytes from the beginning.
    Buffer.from(Array.from({ length: times }, () => [0xc0, 0x10]).flat()),
  ]);
  const id = createHash("sha1").update(`blob ${base.length}\0`).update(base).digest();
  const header = Buffer.from("PACK\0\0\0\x02\0\0\0\x02", "latin1");
  const body = Buffer.concat([header, entry(3, base), entry(7, delta, id)]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

function entry(type: number, content: Buffer, before = Buffer.alloc(0)): Buffer {
  const rest = Math.floor(content.length / 16);
  const first = (type << 4) | (content.length & 15) | (rest > 0 ? 0x80 : 0);
  return Buffer.concat([
    Buffer.from([first]),
    rest > 0 ? varint(rest) : before.subarray(0, 0),
    before,
    deflateSync(content),
  ]);
}

function varint(number: number): Buffer {
  const bytes: number[] = [];
  let rest = number;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** What plain git does with a bundle: fetches it into a bare repository without any of our checks. */
export function plainFetch(world: World, bundle: string, ref: string): void {
  if (!world.has("unguarded.git")) {
    const clone = ["clone", "-q", "--bare", "agent/repo.git", "unguarded.git"];
    execFileSync("git", clone, { cwd: world.path, env: world.env });
  }
  world.plain("unguarded.git", "fetch", "-q", bundle, `+${ref}:refs/heads/taken`);
}
