/** The source of signals: `process`, or a fake in tests. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first Ctrl-C asks to stop, the second to quit at once. */
export function onInterrupt(source: SignalSource, { first, second }: { first(): void; second(): void }): void {
  let asked = false;
  const listener = () => {
    if (asked) return second();
    asked = true;
    first();
  };
  for (const signal of SIGNALS) source.on(signal, listener);
}
