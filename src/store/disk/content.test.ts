import { createHash } from "node:crypto";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { sha256Of } from "./content.ts";

test.each([0, 1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 600_000])(
  "a file of %i bytes is hashed to its end",
  async (bytes) => {
    await using home = await temporaryHome();
    const content = Buffer.alloc(bytes, "abc");
    writeFileSync(join(home.path, "file"), content);
    const fd = openSync(join(home.path, "file"), "r");

    expect(await sha256Of(fd)).toEqual({ sha256: createHash("sha256").update(content).digest("hex"), bytes });
    closeSync(fd);
  },
);
