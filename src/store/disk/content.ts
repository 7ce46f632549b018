import { createHash, hash } from "node:crypto";
import { read, readSync } from "node:fs";
import { promisify } from "node:util";

const readAt = promisify(read);
const CHUNK = 256 * 1024;
/** Files this small are read synchronously: a trip through the thread pool costs more than the read. */
const SMALL = 16 * 1024;

/** An open file from its beginning, in parts. Each part is overwritten by the next one: use it, or copy it, at once. */
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
  const whole = smallContentOf(fd);
  if (whole !== undefined) return { sha256: hash("sha256", whole), bytes: whole.length };
  const sum = createHash("sha256");
  let bytes = 0;
  for await (const chunk of contentOf(fd)) {
    sum.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: sum.digest("hex"), bytes };
}

/** The whole file, unless it is large. A read that fills the buffer does not tell where the file ends. */
function smallContentOf(fd: number): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(SMALL);
  let filled = 0;
  for (;;) {
    const count = readSync(fd, buffer, filled, SMALL - filled, filled);
    filled += count;
    if (filled === SMALL) return undefined;
    if (count === 0) return buffer.subarray(0, filled);
  }
}
