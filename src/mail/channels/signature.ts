import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * `X-Agiraph-Signature: v1=hex(hmac-sha256(secret, timestamp + "." + body))`. The timestamp is part of what is signed,
 * so that an old message cannot be passed off as new.
 */
export const TIMESTAMP_HEADER = "x-agiraph-timestamp";
export const SIGNATURE_HEADER = "x-agiraph-signature";
export const DELIVERY_HEADER = "x-agiraph-delivery";

export function signatureOf(secret: string, timestamp: string, body: string | Buffer): string {
  return `v1=${createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex")}`;
}

/** Takes as long for a wrong signature as for a correct one. */
export function isSignedWith(secret: string, timestamp: string, body: string | Buffer, signature: string): boolean {
  const expected = Buffer.from(signatureOf(secret, timestamp, body));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
