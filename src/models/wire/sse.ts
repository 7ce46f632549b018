/**
 * Reads server-sent events as bytes arrive: the data of each event, without comments, names and ids. An event that is
 * cut off by the end of the stream does not count.
 *
 * SSE-1. Each character is searched once, however small the pieces are: an incomplete line is kept in pieces.
 */
export interface EventReader {
  /** Characters that are kept of an event that is not whole: who reads from a stranger bounds them. */
  readonly unfinished: number;
  push(bytes: Uint8Array, onData: (data: string) => void): void;
}

export function createEventReader(): EventReader {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  let pieces: string[] = [];
  let pending = 0;
  let data: string[] = [];
  let said = 0;

  function textOf(bytes: Uint8Array): string {
    // What ends with a whole letter needs nobody who remembers half of one: making one costs as much as the decoding.
    const isWhole = decoder === undefined && (bytes.at(-1) ?? 0) < 0x80;
    if (!isWhole) decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    const text =
      decoder?.decode(bytes, { stream: true }) ?? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
    if (!isFirst || text === "") return text;
    isFirst = false;
    return text.startsWith("\uFEFF") ? text.slice(1) : text;
  }

  function line(text: string, start: number, end: number, onData: (data: string) => void): void {
    if (start === end) {
      if (data.length > 0) onData(data.length === 1 ? (data[0] ?? "") : data.join("\n"));
      data = [];
      said = 0;
    } else if (text.startsWith("data:", start)) {
      const value = text.slice(start + (text[start + 5] === " " ? 6 : 5), end);
      data.push(value);
      said += end - start + 1;
    }
  }

  function keep(piece: string): void {
    if (piece !== "") pieces.push(piece);
    pending += piece.length;
  }

  return {
    get unfinished() {
      return pending + said;
    },
    push(bytes, onData) {
      const added = textOf(bytes);
      let end = added.indexOf("\n");
      if (end < 0) return keep(added);
      const text = pieces.length === 0 ? added : pieces.join("") + added;
      end += pending;
      pieces = [];
      pending = 0;
      let start = 0;
      for (; end >= 0; end = text.indexOf("\n", start)) {
        line(text, start, end > start && text[end - 1] === "\r" ? end - 1 : end, onData);
        start = end + 1;
      }
      keep(text.slice(start));
    },
  };
}
