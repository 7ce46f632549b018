/** What scripts lean on. */
export const EXIT = { done: 0, failed: 1, usage: 2, waiting: 3, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command was called in a way it does not understand. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command was understood, and there is a good reason not to do it. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Another process works in this home; to programs the same as the store's own word for it. */
export class HomeInUse extends Error {
  override readonly name = "HomeLockedError";
  /** It has only just begun, or is about to leave: worth another try. */
  readonly isPassing: boolean;

  constructor(message: string, { isPassing = false, ...options }: ErrorOptions & { isPassing?: boolean } = {}) {
    super(message, options);
    this.isPassing = isPassing;
  }
}
