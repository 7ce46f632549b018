import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

/**
 * The file system without the thread pool. What `node:fs` does in the background ends in an order that no seed decides;
 * while somebody has taken charge here it is done in this thread, and answered when they say. Import it before anything
 * that imports `node:fs`.
 *
 * ORDERLY-FS-1. Only the asynchronous calls change: they do what their synchronous twins do, to the same real files.
 * ORDERLY-FS-2. What is asked for may be done at once or only when it is answered, as the one in charge decides; done
 *     once.
 * ORDERLY-FS-3. A call without a twin is refused: nothing can slip past unnoticed.
 */
export interface InCharge {
  /** Calls `answer` when it pleases, or never. */
  later(answer: () => void): void;
  /** Whether what was asked for is done now, and only the answer waits. */
  doneAtOnce(): boolean;
}

let inCharge: InCharge | undefined;
const open = new Set<number>();

export function takeCharge(who: InCharge | undefined): void {
  inCharge = who;
}

/** What a process that dies here would have had open. */
export function openDescriptors(): number[] {
  return [...open];
}

export function closeAllDescriptors(): void {
  for (const fd of openDescriptors()) fs.closeSync(fd);
}

type Function = (...args: unknown[]) => unknown;
type Callback = (error: unknown, ...values: unknown[]) => void;

const twins = fs as unknown as Record<string, Function>;
const promised = promises as unknown as Record<string, Function>;

function ask(twin: Function, args: unknown[], answer: Callback): void {
  const outcome = () => {
    try {
      const value = twin(...args);
      return () => answer(null, value, args[1]);
    } catch (error) {
      return () => answer(error);
    }
  };
  const settled = inCharge?.doneAtOnce() ? outcome() : undefined;
  inCharge?.later(settled ?? (() => outcome()()));
}

for (const name of Object.keys(twins)) {
  const original = twins[name];
  const twin = twins[`${name}Sync`];
  if (!original || !twin) continue;
  const changed = (...args: unknown[]) => {
    if (!inCharge) return original(...args);
    ask(twin, args.slice(0, -1), args.at(-1) as Callback);
  };
  if (name === "read" || name === "write") {
    const key = name === "read" ? "bytesRead" : "bytesWritten";
    Object.defineProperty(changed, promisify.custom, {
      value: (...args: unknown[]) =>
        new Promise((resolve, reject) =>
          changed(...args, (error: unknown, count: number, buffer: unknown) =>
            error ? reject(error) : resolve({ [key]: count, buffer }),
          ),
        ),
    });
  }
  twins[name] = changed;
}

for (const name of Object.keys(promised)) {
  const original = promised[name];
  if (typeof original !== "function") continue;
  const twin = name === "open" ? undefined : twins[`${name}Sync`];
  promised[name] = (...args: unknown[]) => {
    if (!inCharge) return original(...args);
    if (!twin) throw new Error(`The simulation has no way to do fs/promises.${name} in order.`);
    return new Promise((resolve, reject) =>
      ask(twin, args, (error, value) => (error ? reject(error) : resolve(value))),
    );
  };
}

const { openSync, closeSync } = fs;
fs.openSync = (...args) => {
  const fd = openSync(...args);
  if (inCharge) open.add(fd);
  return fd;
};
fs.closeSync = (fd) => {
  open.delete(fd);
  closeSync(fd);
};

syncBuiltinESMExports();
