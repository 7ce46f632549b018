import { RedirectRefused, withoutRedirects } from "../../boundary/without-redirects.ts";
import { discordBody } from "./discord.ts";
import { DELIVERY_HEADER, SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "./signature.ts";
import { slackBody } from "./slack.ts";
import type { Utterance } from "./utterance.ts";

/** A webhook as it is used: its secret looked up, its defaults filled in. */
export interface Webhook {
  name: string;
  url: string;
  /** None: its address is the secret, and nothing is signed. */
  secret: string | undefined;
  preset: "plain" | "slack" | "discord";
}

export type Sent =
  | { kind: "delivered" }
  /** It would be refused again. */
  | { kind: "refused"; why: string }
  /** It may go better the next time; the other side may have said when. */
  | { kind: "failed"; why: string; retryAfterMs?: number };

export function bodyOf(said: Utterance, preset: Webhook["preset"]): string {
  if (preset === "slack") return JSON.stringify(slackBody(said));
  if (preset === "discord") return JSON.stringify(discordBody(said));
  return JSON.stringify(plainBody(said));
}

/**
 * One try. Redirects are not followed: a person gave this address and no other, and what is said to them is theirs.
 * What went wrong is told without the address, which may be a secret.
 */
export async function post(webhook: Webhook, said: Utterance, now: () => number, signal: AbortSignal): Promise<Sent> {
  const body = bodyOf(said, webhook.preset);
  const timestamp = (now() / 1000).toFixed(3);
  const signed = webhook.secret && { [SIGNATURE_HEADER]: signatureOf(webhook.secret, timestamp, body) };
  const headers = {
    "content-type": "application/json",
    "user-agent": "agiraph",
    [TIMESTAMP_HEADER]: timestamp,
    [DELIVERY_HEADER]: said.delivery,
    ...signed,
  };
  let response: Response;
  try {
    response = await withoutRedirects(fetch)(webhook.url, { method: "POST", body, headers, signal });
  } catch (error) {
    if (error instanceof RedirectRefused) return redirected(webhook, error);
    return { kind: "failed", why: signal.aborted ? "it did not answer in time" : networkProblem(error) };
  }
  await response.body?.cancel().catch(() => {});
  return verdictOn(response, now());
}

/** Everything there is to know. */
function plainBody({ delivery, topic, agent, from, ts, of, text, ...more }: Utterance): unknown {
  const at = new Date(ts * 1000).toISOString();
  const { choices, deadline_ts, default: fallback, ended } = more;
  const head = { version: 1, delivery, agent, from, at };
  if (topic === "messages") return { ...head, kind: "message", message: { id: of, text } };
  if (topic === "ends") return { ...head, kind: "end", end: { run_id: of, status: ended, text } };
  const question = {
    id: of,
    text,
    ...(choices && { choices }),
    ...(deadline_ts !== undefined && { deadline: new Date(deadline_ts * 1000).toISOString() }),
    ...(fallback !== undefined && { default: fallback }),
  };
  return { ...head, kind: "question", question };
}

function redirected({ name }: Webhook, { target, statusCode }: RedirectRefused): Sent {
  const setting = `channels.${name}.url in config.json`;
  const why = `it redirects to ${target} (${statusCode}), which is not followed; if that is right, change ${setting}`;
  return { kind: "refused", why };
}

function verdictOn({ status, headers }: Response, now: number): Sent {
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
