/** Why a path may not be used. The message is a sentence for the caller: what, why, and what to do instead. */
export class ScopeRefusal extends Error {
  override readonly name = "ScopeRefusal";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export type RefusalReason =
  | "outside" // not in this participant's scope
  | "read_only" // may be read, not written
  | "invalid" // not a path at all
  | "unsafe" // a link, a fifo, a device, a second name
  | "wrong_kind" // a folder where a file was asked for, or the other way round
  | "changed" // published, and its content is not what was recorded
  | "too_large";

/** There is no such file; the message names what is near it. */
export class FileNotFound extends Error {
  override readonly name = "FileNotFound";
}
