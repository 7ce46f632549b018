/** The source of signals: `process`, or a fake in tests. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ctrl-C is a person's wish; the other signals say that the terminal or the process that started this one is gone. */
export type Interrupt = (typeof SIGNALS)[number];

/** The first Ctrl-C asks to stop, the second to quit at once. One that came before anybody listened counts. */
export function onInterrupt(
  source: SignalSource,
  { first, second }: { first(signal: Interrupt): void; second(): void },
  before?: Interrupt,
): void {
  let asked = before !== undefined;
  for (const signal of SIGNALS)
    source.on(signal, () => {
      if (asked) return second();
      asked = true;
      first(signal);
    });
  if (before !== undefined) first(before);
}
