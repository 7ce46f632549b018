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

  function line(text: string, onData: (data: string) => void): void {
    if (text === "") {
      if (data !== null) onData(data);
      data = null;
    } else if (text.startsWith("data:")) {
      const value = text.slice(text[5] === " " ? 6 : 5);
      data = data === null ? value : `${data}\n${value}`;
    }
  }

  return {
    push(bytes, onData) {
      rest += decoder.decode(bytes, { stream: true });
      let start = 0;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
        line(rest.slice(start, rest[end - 1] === "\r" ? end - 1 : end), onData);
        start = end + 1;
      }
      rest = rest.slice(start);
    },
  };
}
