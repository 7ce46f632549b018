/** The text of a response, read up to a limit. A longer response is dropped and its connection closed. */
export async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > maxBytes) throw new BodyTooLong(maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** The beginning of a response, for an error message; the rest is not read. */
export async function beginningOf(response: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(parts).subarray(0, maxBytes).toString();
}

export class BodyTooLong extends Error {
  override readonly name = "BodyTooLong";
  constructor(maxBytes: number) {
    super(`The answer is longer than ${Math.round(maxBytes / 1024)} KiB, and was dropped.`);
  }
}
