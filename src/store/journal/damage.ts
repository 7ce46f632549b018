import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Disk } from "../disk/disk.ts";
import { damagedDir } from "../paths.ts";
import type { Repair } from "../store.ts";

/**
 * What was found damaged. The bytes are kept before anything is cut.
 *
 * The name of the kept file is derived from its place and content, so the same damage is kept once, however often the
 * home is opened.
 */
export class Damage {
  readonly repairs: Repair[] = [];
  readonly #disk: Disk;
  readonly #root: string;
  readonly #keep: boolean;

  /** With `keep: false` (a home opened only to look) damage is reported and nothing is written. */
  constructor(disk: Disk, root: string, keep: boolean) {
    this.#disk = disk;
    this.#root = root;
    this.#keep = keep;
  }

  /** Returns the repair when the damage is new, undefined when it was set aside before. */
  setAside(file: string, offset: number, bytes: Uint8Array, what: string): Repair | undefined {
    const name = `${file.replaceAll("/", "~")}@${offset}-${crc32(bytes).toString(16).padStart(8, "0")}`;
    const repair = { file, what, aside: this.#keep ? join("damaged", name) : null };
    if (this.repairs.some((known) => known.aside === repair.aside && known.file === file && known.what === what))
      return undefined;
    this.repairs.push(repair);
    if (!this.#keep || this.#disk.size(join(this.#root, repair.aside ?? "")) === bytes.length) return undefined;
    this.#write(name, bytes);
    return repair;
  }

  /**
   * Numbers that no record has any more. Nothing is left to set aside: what is kept in `damaged/` is the note itself, so
   * that it is reported once.
   */
  missing(file: string, offset: number, from: number, to: number): Repair | undefined {
    return this.#missing(file, offset, from, to, true);
  }

  /** The same where it has been reported as something else: it is not reported again. */
  known(file: string, offset: number, from: number, to: number): void {
    this.#missing(file, offset, from, to, false);
  }

  #missing(file: string, offset: number, from: number, to: number, isNews: boolean): Repair | undefined {
    const which = from === to ? `record ${from} is` : `records ${from} to ${to} are`;
    const what = `${which} missing (deleted by hand, or lost by the disk); restore the file from a backup if they matter`;
    const name = `${file.replaceAll("/", "~")}@${offset}-missing-${from}-${to}`;
    const repair = { file, what, aside: this.#keep ? join("damaged", name) : null };
    const isKnown =
      this.repairs.some((known) => known.file === file && known.what === what) ||
      this.#disk.size(join(damagedDir(this.#root), name)) !== undefined;
    if (isKnown) return undefined;
    if (isNews) this.repairs.push(repair);
    if (this.#keep) this.#write(name, Buffer.from(`${what}\n`));
    return isNews && this.#keep ? repair : undefined;
  }

  #write(name: string, bytes: Uint8Array): void {
    const dir = damagedDir(this.#root);
    if (this.#disk.makeDir(dir)) this.#disk.syncDirNow(this.#root);
    const file = this.#disk.open(join(dir, name), "write");
    try {
      file.write(bytes, 0);
      file.syncNow();
    } finally {
      file.close();
    }
    this.#disk.syncDirNow(dir);
  }
}
