import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../disk/atomic-file.ts";

const noteSchema = z.object({
  /** When a renewal last succeeded and failed, in milliseconds. */
  renewed_at: z.number().optional(),
  failed_at: z.number().optional(),
  failure: z.string().max(1000).optional(),
  /** Marks the refresh token that its server has refused. It is a hash: it opens nothing. */
  refused: z.string().optional(),
});
export type LoginNote = z.infer<typeof noteSchema>;

/** What is known about the logins of programs besides their own files. Losing it only loses explanations. */
export class LoginFile {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  /** Read again each time: another process may have written it. */
  note(program: string): LoginNote {
    const notes = this.#all();
    return Object.hasOwn(notes, program) ? (notes[program] ?? {}) : {};
  }

  async keep(program: string, note: LoginNote): Promise<void> {
    try {
      await mkdir(this.#home, { recursive: true, mode: 0o700 });
      replaceFile(this.#path, `${JSON.stringify({ ...this.#all(), [program]: note }, null, 2)}\n`);
    } catch {
      // It is written again with the next renewal.
    }
  }

  get #path(): string {
    return join(this.#home, "logins.json");
  }

  #all(): Record<string, LoginNote> {
    try {
      return z.record(z.string(), noteSchema).parse(JSON.parse(readFileSync(this.#path, "utf8")));
    } catch {
      return {};
    }
  }
}
