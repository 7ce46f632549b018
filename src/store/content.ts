import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";

const readAt = promisify(read);
const CHUNK = 256 * 1024;

/** An open file from its beginning, in parts. A part is overwritten by the next one: use it, or copy it, at once. */
export async function* contentOf(fd: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (let at = 0; ; ) {
    const { bytesRead } = await readAt(fd, buffer, 0, CHUNK, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export async function sha256Of(fd: number): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of contentOf(fd)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest("hex"), bytes };
}
