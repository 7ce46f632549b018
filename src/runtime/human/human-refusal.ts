/** It is not there, it is not the time for it, or it could never be. */
export type RefusalCode = "not_found" | "conflict" | "bad_request";

/** What a person wants cannot be done: the thing they name is not there, or it is not the time for it. */
export class HumanRefusal extends Error {
  override readonly name = "HumanRefusal";
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

export { LONGEST_WORDS } from "../../protocol/words.ts";
