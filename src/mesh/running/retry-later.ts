/** Retries work that failed (a full disk), with growing pauses. The same problem is reported only once. */
export class RetryLater {
  readonly #ports: RetryLaterPorts;
  #waiting: { timer: NodeJS.Timeout; wait: number } | undefined;

  constructor(ports: RetryLaterPorts) {
    this.#ports = ports;
  }

  /** False if the work failed; then it is tried again later. */
  attempt(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  failed(error: unknown): void {
    if (!this.#ports.isOpen()) return;
    if (!this.#waiting) this.#ports.onFirstFailure(error);
    const wait = Math.min((this.#waiting?.wait ?? FIRST_MS / 2) * 2, LONGEST_MS);
    clearTimeout(this.#waiting?.timer);
    const timer = setTimeout(() => this.#ports.tryAgain(), wait);
    timer.unref();
    this.#waiting = { timer, wait };
  }

  /** It works again, or nobody needs it any more. */
  clear(): void {
    clearTimeout(this.#waiting?.timer);
    this.#waiting = undefined;
  }
}

export interface RetryLaterPorts {
  isOpen(): boolean;
  onFirstFailure(error: unknown): void;
  tryAgain(): void;
}

const FIRST_MS = 250;
const LONGEST_MS = 5_000;
