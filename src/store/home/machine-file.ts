import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../disk/atomic-file.ts";

const machineSchema = z.strictObject({ of: z.string(), kind: z.string(), installed: z.string().max(1000) });

/**
 * What an earlier process found to be available to commands here. It can be determined again, so nothing depends on it.
 */
export class MachineFile {
  readonly #file: string;
  readonly #of: string;

  /** `about`: what else the answer depends on. Since the machine was started, and by the same PATH, it is the same. */
  constructor(home: string, path: string, about: string) {
    this.#file = join(home, "machine.json");
    this.#of = createHash("sha256")
      .update(JSON.stringify([hostname(), bootId(), path, about]))
      .digest("hex");
  }

  read(): { kind: string; installed: string } | undefined {
    try {
      const { of, ...found } = machineSchema.parse(JSON.parse(readFileSync(this.#file, "utf8")));
      return of === this.#of ? found : undefined;
    } catch {
      return undefined;
    }
  }

  keep(found: { kind: string; installed: string }): void {
    try {
      replaceFile(this.#file, `${JSON.stringify({ of: this.#of, kind: found.kind, installed: found.installed })}\n`);
    } catch {
      // The next process asks again.
    }
  }
}

/** Differs after each start of the machine; empty where it does not say. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return "";
  }
}
