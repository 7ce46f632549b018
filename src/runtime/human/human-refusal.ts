/** What a person wants cannot be done: the thing they name is not there, or it is not the time for it. */
export class HumanRefusal extends Error {
  override readonly name = "HumanRefusal";
  readonly code: "not_found" | "conflict";
  constructor(code: "not_found" | "conflict", message: string) {
    super(message);
    this.code = code;
  }
}

/** More than this belongs into a file. */
export const LONGEST_WORDS = 32_000;
