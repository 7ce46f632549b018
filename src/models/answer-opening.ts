/**
 * How an answer begins. If it turns out that it contains nothing of a reply, this says what it is instead: a parser of
 * events passes over whatever is not an event, and would call a web page a stream that broke off.
 */
export class AnswerOpening {
  #type = "";
  #size = 0;
  #kept: Uint8Array[] = [];

  begin(type: string | null | undefined): void {
    this.#type = type ?? "";
    this.#size = 0;
    this.#kept = [];
  }

  add(chunk: Uint8Array): void {
    // A copy: the chunk is a view of a larger buffer, which others fill again.
    if (this.#size < MOST) this.#kept.push(Uint8Array.from(chunk.subarray(0, MOST - this.#size)));
    this.#size += chunk.byteLength;
  }

  /** Whether it is a stream of events in which nothing was said. */
  get isEmptyStream(): boolean {
    return this.what() === EMPTY_STREAM;
  }

  /** To be read behind "answered with". */
  what(): string {
    const text = new TextDecoder().decode(Buffer.concat(this.#kept), { stream: true });
    const isWhole = this.#size <= MOST;
    if (isWebPage(text, this.#type)) return `a web page ${INSTEAD}`;
    if (isBinary(text)) return `binary data ${INSTEAD}`;
    if (EVENT_LINE.test(text)) return eventsIn(text, isWhole);
    if (text.trim() === "") return this.#type.includes("event-stream") ? EMPTY_STREAM : `an empty body ${INSTEAD}`;
    if (!/^\s*[{[]/.test(text)) return `plain text ${INSTEAD}: "${excerpt(text)}"`;
    if (isWhole && !isJson(text)) return `broken JSON ${INSTEAD}: ${excerpt(text)}`;
    return `JSON that is not a streamed reply: ${excerpt(text)}`;
  }
}

export function isWebPage(text: string, type = ""): boolean {
  if (!/^\s*</.test(text)) return false;
  return /^\s*(text\/html|application\/xhtml)/i.test(type) || /<(!doctype html|html|head|body|title)\b/i.test(text);
}

const MOST = 2_048;
const INSTEAD = "instead of a model's reply";
const EMPTY_STREAM = `an empty stream ${INSTEAD}`;
const EVENT_LINE = /^\s*(data|event|id|retry)?:/;

function eventsIn(text: string, isWhole: boolean): string {
  const said = [...text.matchAll(/^data:[^\S\r\n]*(.*)$/gm)]
    .map(([, data = ""]) => data)
    .filter((data) => data !== DONE);
  const first = said[0];
  if (first === undefined) return EMPTY_STREAM;
  const shown = excerpt(`data: ${first}`);
  const isGarbled = !isJson(first) && (isWhole || said.length > 1);
  return isGarbled ? `a garbled stream ${INSTEAD}: ${shown}` : `events that are not a model's reply: ${shown}`;
}

const DONE = "[DONE]";

/** Characters that no text contains, or bytes that are not UTF-8. */
function isBinary(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return /[\u0000-\u0008\u000e-\u001a\uFFFD]/.test(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** One line, short enough for a message. */
function excerpt(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)} …` : line;
}

const LONGEST = 100;
