import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { oneAtATime } from "../../boundary/one-at-a-time.ts";
import type { Picture } from "../../protocol/index.ts";
import { writeFileAtomic } from "../disk/atomic-file.ts";

/**
 * Pictures that models were shown, stored by their hash in the agent's folder: a conversation points at them and stays
 * small, and they stay as they were shown, whatever happens to the original file.
 */
export async function keepPicture(agentDir: string, bytes: Buffer, media_type: string): Promise<Picture> {
  const sha256 = hashOf(bytes);
  const picture = { media_type, sha256, bytes: bytes.length };
  const path = pathOf(agentDir, picture);
  await oneAtATime(path, async () => {
    if (existsSync(path)) return;
    await mkdir(join(agentDir, "pictures"), { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, bytes);
  });
  return picture;
}

/** Undefined if it is gone, or no longer what was shown. */
export function readPicture(agentDir: string, picture: Picture): Buffer | undefined {
  try {
    const bytes = readFileSync(pathOf(agentDir, picture));
    return hashOf(bytes) === picture.sha256 ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function pathOf(agentDir: string, { media_type, sha256 }: Picture): string {
  return join(agentDir, "pictures", `${sha256}.${media_type.slice("image/".length)}`);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
