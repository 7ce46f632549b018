/**
 * Server-sent events, as bytes come: the data of each event, without comments, names and ids. An event that the stream
 * ends in the middle of does not count.
 */
export interface EventReader {
  push(bytes: Uint8Array, onData: (data: string) => void): void;
}

export function createEventReader(): EventReader {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  let rest = "";
  let data: string | null = null;

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
      if (data !== null) onData(data);
      data = null;
    } else if (text.startsWith("data:", start)) {
      const value = text.slice(start + (text[start + 5] === " " ? 6 : 5), end);
      data = data === null ? value : `${data}\n${value}`;
    }
  }

  return {
    push(bytes, onData) {
      const text = rest + textOf(bytes);
      let start = 0;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
        line(text, start, end > start && text[end - 1] === "\r" ? end - 1 : end, onData);
        start = end + 1;
      }
      rest = text.slice(start);
    },
  };
}
