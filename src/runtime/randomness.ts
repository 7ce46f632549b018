import { randomBytes } from "node:crypto";

/** An unpredictable number from 0 up to 1, for nonces and ids. 53 bits, as many as a number holds. */
export function secureRandom(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n) / 2 ** 53;
}
