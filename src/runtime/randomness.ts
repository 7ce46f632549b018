import { randomBytes } from "node:crypto";

/** A number from 0 up to 1 that nobody can foresee: nonces and ids are made of it. 53 bits, as many as a number holds. */
export function secureRandom(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n) / 2 ** 53;
}
