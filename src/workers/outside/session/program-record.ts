import { createHash } from "node:crypto";
import type { z } from "zod";
import { putFile, readPart } from "../../../store/disk/foreign-folder.ts";

/**
 * What an adapter must still know about a program after a restart, in the program's home: one small JSON file for each
 * folder it works in. The program could change it, and would harm nobody but itself.
 */
export class ProgramRecord<T> {
  readonly #home: string;
  readonly #path: string;
  readonly #schema: z.ZodType<T>;
  #writing: Promise<void> = Promise.resolve();

  constructor(home: string, cwd: string, schema: z.ZodType<T>) {
    this.#home = home;
    this.#path = `.agiraph/${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}.json`;
    this.#schema = schema;
  }

  /** Undefined where there is none, or none that can be understood. */
  async read(): Promise<T | undefined> {
    const bytes = await readPart(this.#home, this.#path, 0, MAX_BYTES);
    try {
      return bytes && this.#schema.parse(JSON.parse(bytes.toString("utf8")));
    } catch {
      return undefined;
    }
  }

  /** In the order of the calls. */
  write(record: T): Promise<void> {
    const text = `${JSON.stringify(record)}\n`;
    this.#writing = this.#writing.catch(() => {}).then(() => putFile(this.#home, this.#path, text));
    return this.#writing;
  }
}

const MAX_BYTES = 4 * 1024 * 1024;
