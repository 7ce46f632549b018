import { RedirectRefused, withoutRedirects } from "../../boundary/without-redirects.ts";
import type { Channel, Delivery } from "./channel.ts";
import { DELIVERY_HEADER, SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "./signature.ts";
import type { Utterance } from "./utterance.ts";

/** The address to which a channel posts. */
export interface PostAddress {
  /** Of the channel. */
  name: string;
  url: string;
  /** None: the address is the secret, and nothing is signed. */
  secret: string | undefined;
}

/** A channel that posts JSON; `bodyOf` builds it. */
export function postingChannel(
  address: PostAddress,
  now: () => number,
  bodyOf: (said: Utterance) => unknown,
): Pick<Channel, "name" | "deliver"> {
  return {
    name: address.name,
    deliver: (said, signal) => post(address, JSON.stringify(bodyOf(said)), said.delivery, now, signal),
  };
}

/**
 * One try. Redirects are not followed: a person gave this address and no other, and what is said to them is theirs.
 * What went wrong is told without the address, which may be a secret.
 */
async function post(
  address: PostAddress,
  body: string,
  delivery: string,
  now: () => number,
  signal: AbortSignal,
): Promise<Delivery> {
  const timestamp = (now() / 1000).toFixed(3);
  const signed = address.secret && { [SIGNATURE_HEADER]: signatureOf(address.secret, timestamp, body) };
  const headers = {
    "content-type": "application/json",
    "user-agent": "agiraph",
    [TIMESTAMP_HEADER]: timestamp,
    [DELIVERY_HEADER]: delivery,
    ...signed,
  };
  let response: Response;
  try {
    const setting = `channels.${address.name}.url in config.json`;
    response = await withoutRedirects(fetch, setting)(address.url, { method: "POST", body, headers, signal });
  } catch (error) {
    if (error instanceof RedirectRefused) return redirected(error);
    return { kind: "failed", why: signal.aborted ? "it did not answer in time" : networkProblem(error) };
  }
  await response.body?.cancel().catch(() => {});
  return verdictOn(response, now());
}

function redirected({ target, statusCode, advice }: RedirectRefused): Delivery {
  return { kind: "refused", why: `it redirects to ${target} (${statusCode}), which is not followed. ${advice}` };
}

function verdictOn({ status, headers }: Response, now: number): Delivery {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const why = `it answered ${status}`;
  if (status < 500 && !COMES_AGAIN.has(status)) return { kind: "refused", why };
  const retryAfterMs = waitAskedFor(headers.get("retry-after"), now);
  return { kind: "failed", why, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

const COMES_AGAIN = new Set([408, 425, 429]);

/** Seconds, or a date. */
function waitAskedFor(header: string | null, now: number): number | undefined {
  const after = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000;
  const date = after === "" ? Number.NaN : Date.parse(after);
  return Number.isFinite(date) ? Math.max(0, date - now) : undefined;
}

function networkProblem(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no connection";
  return `it could not be reached (${code})`;
}
