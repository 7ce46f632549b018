/** Exit codes, which scripts rely on. */
export const EXIT = { done: 0, failed: 1, usage: 2, waiting: 3, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command line is right, but the command cannot be carried out; the message says why. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Another process works in this home. Programs see the same name as that of the store's own error. */
export class HomeInUse extends Error {
  override readonly name = "HomeLockedError";
  /** It has only just begun, or is about to leave: worth another try. */
  readonly isPassing: boolean;

  constructor(message: string, { isPassing = false, ...options }: ErrorOptions & { isPassing?: boolean } = {}) {
    super(message, options);
    this.isPassing = isPassing;
  }
}
