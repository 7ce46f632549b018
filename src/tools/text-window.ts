import { TextDecoder } from "node:util";
import { contentOf } from "../store/disk/content.ts";
import type { OpenFile } from "../store/disk/walk.ts";

/** How much of a file one call shows. */
export const MAX_LINES = 2000;
export const MAX_CHARS = 50_000;
export const MAX_LINE_CHARS = 2000;
/** Lines are counted up to here; what comes after can be read with `bash`. */
export const MAX_SCAN_BYTES = 64 * 1024 * 1024;

export type TextWindow =
  | { kind: "binary"; what: string }
  | {
      kind: "text";
      text: string;
      /** The first and last line shown, from 1; last < first when there are none. */
      first: number;
      last: number;
      /** Lines in the file, or in the part of it that was looked at. */
      total: number;
      /** The file was too big to be read to its end. */
      unread: boolean;
      /** Lines that were cut because they are too long. */
      cut: number;
    };

/** Some lines of an open file of any size: it is read in parts and only what is shown is kept. */
export async function textWindow(
  file: OpenFile,
  { offset, limit }: { offset: number; limit: number },
): Promise<TextWindow> {
  const lines = new LineCollector(offset, Math.min(limit, MAX_LINES));
  let decoder: TextDecoder | undefined;
  let scanned = 0;
  for await (const chunk of contentOf(file.fd)) {
    if (!decoder) {
      const encoding = encodingOf(chunk);
      if (!encoding.text) return { kind: "binary", what: encoding.what };
      decoder = new TextDecoder(encoding.label);
    }
    lines.add(decoder.decode(chunk, { stream: true }));
    scanned += chunk.length;
    if (scanned >= MAX_SCAN_BYTES) break;
  }
  lines.add(decoder?.decode() ?? "");
  return { kind: "text", ...lines.end(), unread: scanned < file.size };
}

/** Keeps the lines that were asked for, as far as there is room; counts all. */
class LineCollector {
  readonly #offset: number;
  readonly #limit: number;
  readonly #kept: string[] = [];
  #line = "";
  #length = 0;
  #total = 0;
  #chars = 0;
  #cut = 0;
  #full = false;

  constructor(offset: number, limit: number) {
    this.#offset = offset;
    this.#limit = limit;
  }

  add(text: string): void {
    for (let at = 0; at < text.length; ) {
      const newline = text.indexOf("\n", at);
      const end = newline < 0 ? text.length : newline;
      this.#extend(text, at, end);
      if (newline >= 0) this.#finishLine();
      at = end + 1;
    }
  }

  end() {
    if (this.#length > 0) this.#finishLine();
    const first = this.#offset;
    return {
      text: this.#kept.join("\n"),
      first,
      last: first + this.#kept.length - 1,
      total: this.#total,
      cut: this.#cut,
    };
  }

  #extend(text: string, from: number, to: number): void {
    this.#length += to - from;
    const room = MAX_LINE_CHARS - this.#line.length;
    if (room > 0 && this.#isWanted(this.#total + 1)) this.#line += text.slice(from, Math.min(to, from + room));
  }

  #finishLine(): void {
    this.#total += 1;
    if (this.#isWanted(this.#total)) this.#keep();
    this.#line = "";
    this.#length = 0;
  }

  #keep(): void {
    const rest = this.#length - this.#line.length;
    const line = rest > 0 ? `${this.#line}… (${rest} more characters in this line)` : this.#line;
    // At least one line is always shown, so that anyone who pages on gets somewhere.
    if (this.#kept.length > 0 && this.#chars + line.length > MAX_CHARS) {
      this.#full = true;
      return;
    }
    if (rest > 0) this.#cut += 1;
    this.#chars += line.length + 1;
    this.#kept.push(line);
  }

  #isWanted(line: number): boolean {
    return !this.#full && line >= this.#offset && line < this.#offset + this.#limit;
  }
}

const MAGIC: readonly (readonly [bytes: string, what: string])[] = [
  ["\x89PNG", "a PNG image"],
  ["\xff\xd8\xff", "a JPEG image"],
  ["GIF8", "a GIF image"],
  ["RIFF", "a RIFF file (image, sound or video)"],
  ["%PDF-", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive (or an office document, which is one)"],
  ["\x1f\x8b", "a gzip archive"],
  ["BZh", "a bzip2 archive"],
  ["\xfd7zXZ", "an xz archive"],
  ["\x28\xb5\x2f\xfd", "a zstd archive"],
  ["\x7fELF", "a program"],
  ["SQLite format 3", "an SQLite database"],
];

function encodingOf(start: Buffer): { text: true; label: string } | { text: false; what: string } {
  const bytes = start.toString("latin1", 0, 16);
  const known = MAGIC.find(([magic]) => bytes.startsWith(magic));
  if (known) return { text: false, what: known[1] };
  if (bytes.startsWith("\xff\xfe")) return { text: true, label: "utf-16le" };
  if (bytes.startsWith("\xfe\xff")) return { text: true, label: "utf-16be" };
  return start.subarray(0, 8192).includes(0) ? { text: false, what: "binary data" } : { text: true, label: "utf-8" };
}
