import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A line that is longer than this is not kept: what is left of it is read and thrown away. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Lines of a program's output as they come; `null` stands for one that was too long. Reads no faster than it is asked. */
export async function* linesOf(stream: Readable, maxBytes = MAX_LINE_BYTES): AsyncGenerator<string | null> {
  let kept: Buffer[] = [];
  let bytes = 0;
  const taken = () => {
    const line = bytes > maxBytes ? null : Buffer.concat(kept).toString("utf8").replace(/\r$/, "");
    kept = [];
    bytes = 0;
    return line;
  };
  const keep = (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxBytes) kept = [];
    else kept.push(part);
  };
  try {
    for await (const chunk of stream) {
      let rest: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        keep(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        yield taken();
      }
      if (rest.length > 0) keep(rest);
    }
  } catch {
    // A stream that breaks has no more lines; how the program ended is told by `ended`.
  }
  if (bytes > 0) yield taken();
}

/** All that a program prints, line by line with its end; a line that is longer than this comes in parts. */
export async function* printedBy(stream: Readable, most: number): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let kept: string[] = [];
  let length = 0;
  const keep = (part: string) => {
    kept.push(part);
    length += part.length;
  };
  const taken = () => {
    const line = kept.join("");
    kept = [];
    length = 0;
    return line;
  };
  try {
    for await (const chunk of stream) {
      // Only what is new is searched: a long line in small pieces would else be searched again with each of them.
      let rest = decoder.write(chunk);
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
        keep(rest.slice(0, end + 1));
        yield taken();
        rest = rest.slice(end + 1);
      }
      keep(rest);
      if (length >= most) yield taken();
    }
  } catch {
    // As above.
  }
  keep(decoder.end());
  if (length > 0) yield taken();
}
