import { NO_USAGE, type Usage } from "../../../protocol/index.ts";

/** Of a program's own prompt and tools, in tokens: between 10,000 (opencode) and 15,000 (Gemini). */
const OWN_PROMPT = 12_000;
const CHARACTERS_PER_TOKEN = 4;

/**
 * What the model calls of a turn probably took, from what was said, called and answered: agents tell that at the end of
 * a turn, or never, and a turn may last for hours. What a call before it has read is taken to come from a cache.
 */
export class UsageEstimate {
  /** What the call under way reads, and what the one before it had read, in tokens. */
  #context = OWN_PROMPT;
  #known = 0;
  /** What the call under way has written, and what was answered since, in characters. */
  #written = 0;
  #answered = 0;
  #hasAnswers = false;
  #told: number | undefined;

  /** Said to it, before the call that will read it. */
  heard(text: string): void {
    this.#context += tokensIn(text.length);
  }

  wrote(characters: number): void {
    this.#written += characters;
  }

  answered(characters: number): void {
    this.#answered += characters;
    this.#hasAnswers = true;
  }

  /** How full the agent says that its window is: all that the last call read and wrote. */
  windowIs(used: number): void {
    this.#told = used;
  }

  /** Whether whatever it writes next is written by another model call. */
  get isAnswered(): boolean {
    return this.#hasAnswers;
  }

  /** The call under way is over: what it took, or nothing if there was none. */
  callIsOver(): Usage | undefined {
    if (this.#written === 0) return undefined;
    const output = tokensIn(this.#written);
    const input = this.#told ? Math.max(0, this.#told - output) : this.#context;
    const cache_read = Math.min(this.#known, input);
    this.#known = input;
    this.#context = input + output + tokensIn(this.#answered);
    this.#written = 0;
    this.#answered = 0;
    this.#hasAnswers = false;
    this.#told = undefined;
    return { ...NO_USAGE, input, output, cache_read };
  }
}

function tokensIn(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
