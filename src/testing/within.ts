import { expect } from "vitest";

/**
 * What a person may wait for at most. Asserted where a test runs alone (`npm run soak`); beside others it would measure
 * the machine. Elsewhere only what came of it is asserted, and the guard of the test ends what hangs.
 */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work;
  if (process.env.AGIRAPH_SOAK !== undefined) expect(performance.now() - began).toBeLessThan(limitMs);
  return result;
}
