/** It does not exist, it is not possible now (`not_started`: not before it is started), or it is never possible. */
export type RefusalCode = "not_found" | "conflict" | "not_started" | "bad_request";

/** A person's request cannot be carried out: what they name does not exist, or it is not possible now. */
export class HumanRefusal extends Error {
  override readonly name = "HumanRefusal";
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}
