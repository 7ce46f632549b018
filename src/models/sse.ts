/**
 * Server-sent events, as bytes come: the data of each event, without comments, names and ids. An event that the stream
 * ends in the middle of does not count.
 */
export interface EventReader {
  push(bytes: Uint8Array, onData: (data: string) => void): void;
}

export function createEventReader(): EventReader {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string | null = null;

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
      const text = rest + decoder.decode(bytes, { stream: true });
      let start = 0;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
        line(text, start, end > start && text[end - 1] === "\r" ? end - 1 : end, onData);
        start = end + 1;
      }
      rest = text.slice(start);
    },
  };
}
