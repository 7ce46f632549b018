import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isObjectId } from "./names.ts";

export interface BundleHeader {
  /** Commits that the receiver must have. */
  needs: string[];
  refs: Map<string, string>;
  /** Where the pack begins. */
  offset: number;
}

/**
 * A bundle that a sandbox wrote, opened once: what is checked is what is read, whatever is renamed meanwhile.
 *
 * BUNDLE-1. Only a plain file is read: no link, no pipe that never ends.
 * BUNDLE-2. Its header is bounded, and every name in it is a commit or a plain ref.
 */
export class BundleFile implements AsyncDisposable {
  readonly bytes: number;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, bytes: number) {
    this.#handle = handle;
    this.bytes = bytes;
  }

  static async open(path: string): Promise<BundleFile> {
    // Without waiting: opening a pipe would wait for its writer.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = await open(path, flags).catch(() => {
      throw new BadBundle("The bundle cannot be read.");
    });
    const stats = await handle.stat();
    if (stats.isFile()) return new BundleFile(handle, stats.size);
    await handle.close();
    throw new BadBundle("The bundle is not a plain file.");
  }

  async header(mostRefs: number): Promise<BundleHeader> {
    const buffer = Buffer.alloc(Math.min(this.bytes, MOST_HEADER));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, 0);
    const head = buffer.subarray(0, bytesRead);
    const end = head.indexOf("\n\n");
    if (end < 0) throw new BadBundle("The header of the bundle does not end.");
    const [first = "", ...lines] = head.subarray(0, end).toString("latin1").split("\n");
    if (!/^# v[23] git bundle$/.test(first)) throw new BadBundle("This is not a bundle that git wrote.");
    const header: BundleHeader = { needs: [], refs: new Map(), offset: end + 2 };
    for (const line of lines) readLine(line, header);
    if (header.refs.size === 0) throw new BadBundle("The bundle names no commit.");
    if (header.refs.size > mostRefs) throw new BadBundle(`The bundle has more than ${mostRefs} refs.`);
    return header;
  }

  /** Up to the length it had when it was opened. */
  async *pack(offset: number): AsyncIterable<Uint8Array> {
    for (let at = offset; at < this.bytes; ) {
      const part = Buffer.alloc(Math.min(PART, this.bytes - at));
      const { bytesRead } = await this.#handle.read(part, 0, part.length, at);
      if (bytesRead === 0) return;
      yield part.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** What a worker is told. */
export class BadBundle extends Error {}

const MOST_HEADER = 1024 * 1024;
const PART = 256 * 1024;

function readLine(line: string, header: BundleHeader): void {
  if (line.startsWith("@")) {
    // A filter would mean that objects are missing on purpose.
    if (!/^@object-format=sha(?:1|256)$/.test(line)) throw new BadBundle("The bundle leaves objects out.");
    return;
  }
  const [, dash = "", id = "", name = ""] = /^(-?)([0-9a-f]+)(?: (.*))?$/s.exec(line) ?? [];
  if (!isObjectId(id)) throw new BadBundle("The header of the bundle cannot be read.");
  if (dash !== "") header.needs.push(id);
  else if (/^(?:HEAD|refs\/[A-Za-z0-9._/-]{1,200})$/.test(name) && !name.includes("..")) header.refs.set(name, id);
  else throw new BadBundle("The bundle has a ref with an odd name.");
}
