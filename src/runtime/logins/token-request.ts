import { z } from "zod";
import { boundedText } from "../../boundary/bounded-body.ts";
import { withoutRedirects } from "../../boundary/without-redirects.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Renewed, TokenRequest } from "./login-format.ts";

const LIMIT_MS = 30_000;
const MOST_BYTES = 256 * 1024;

export type TokenAnswer =
  | { kind: "renewed"; tokens: Renewed }
  /** The server says that this login is over. */
  | { kind: "refused"; why: string }
  /** There was no answer, or none that says so: another try may succeed. */
  | { kind: "unreachable"; why: string };

const seconds = z.number().nonnegative().max(1e10);
const tokensSchema = z.object({
  access_token: z.string().min(1).max(65_536),
  refresh_token: z.string().min(1).max(65_536).nullish(),
  id_token: z.string().max(65_536).nullish(),
  expires_in: seconds.nullish(),
  refresh_token_expires_in: seconds.nullish(),
});

/** As in the standard (a word), and as OpenAI sends it (an object). */
const refusalSchema = z.object({
  error: z.union([z.string(), z.object({ code: z.string().nullish(), type: z.string().nullish() })]),
});

/** One request for new tokens. Never throws, never reveals the tokens, and ends only by its time limit. */
export async function requestTokens(
  { url, type, body }: TokenRequest,
  { fetch, clock }: { fetch: typeof globalThis.fetch; clock: Clock },
): Promise<TokenAnswer> {
  const { host } = new URL(url);
  const over = new AbortController();
  const { signal } = over;
  const late = clock.sleep(LIMIT_MS, signal).then(
    () => over.abort(new Error(`${host} did not answer within ${LIMIT_MS / 1000} s`)),
    () => {},
  );
  try {
    const response = await withoutRedirects(fetch)(url, {
      method: "POST",
      headers: {
        accept: "application/json",
        "content-type": type === "json" ? "application/json" : "application/x-www-form-urlencoded",
      },
      body: type === "json" ? JSON.stringify(body) : new URLSearchParams(body).toString(),
      signal,
    });
    return understood(response.status, await boundedText(response, MOST_BYTES), host, clock.now());
  } catch (error) {
    const reason = signal.aborted ? signal.reason : error;
    return { kind: "unreachable", why: reason instanceof Error ? wordsOf(reason, host) : `${host} cannot be reached` };
  } finally {
    over.abort();
    await late;
  }
}

function understood(status: number, text: string, host: string, now: number): TokenAnswer {
  const data = parsed(text);
  if (status === 200) {
    const tokens = tokensSchema.safeParse(data).data;
    if (!tokens) return { kind: "unreachable", why: `${host} gave an answer that cannot be understood` };
    const { access_token, refresh_token, id_token, expires_in, refresh_token_expires_in: longer } = tokens;
    return {
      kind: "renewed",
      tokens: {
        access: access_token,
        refresh: refresh_token ?? null,
        expires: expires_in == null ? null : now + expires_in * 1000,
        ...(longer != null && { refreshExpires: now + longer * 1000 }),
        ...(id_token && { id: id_token }),
      },
    };
  }
  const refusal = refusalSchema.safeParse(data).data?.error;
  const code = typeof refusal === "string" ? refusal : (refusal?.code ?? refusal?.type ?? undefined);
  if ([400, 401, 403].includes(status) && code !== undefined && !PASSING.test(code))
    return { kind: "refused", why: `${host} refuses to renew it (${code.slice(0, 100)})` };
  return { kind: "unreachable", why: `${host} answers with HTTP ${status}${code ? ` (${code.slice(0, 100)})` : ""}` };
}

/** Says nothing of the login. */
const PASSING = /rate_limit|temporarily|overloaded|server_error|timeout/;

function wordsOf(error: Error, host: string): string {
  const cause = error.cause instanceof Error && "code" in error.cause ? ` (${String(error.cause.code)})` : "";
  return error.message === "fetch failed" ? `${host} cannot be reached${cause}` : error.message;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
