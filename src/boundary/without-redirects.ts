/**
 * A fetch that never follows a redirect: a request carries a key, a token or a person's text, which only the configured
 * address may see. Node's own fetch keeps headers like `x-api-key` and the body when it follows a redirect to another
 * origin.
 *
 * BOUNDARY-1. An answer with a redirect status rejects with `RedirectRefused`; nothing is sent to where it points.
 * BOUNDARY-2. For another origin the error names only the origin: path and query may repeat a secret of the request.
 * BOUNDARY-3. No address on another host is recommended: anyone who controls the network decides where a redirect points.
 */
export function withoutRedirects(fetch: typeof globalThis.fetch, setting?: string): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    const from = input instanceof Request ? input.url : String(input);
    const refused = redirectIn(response.status, response.headers.get("location"), from, setting);
    // As fetch in a browser reports it, which tells nothing but that there was one.
    const isOpaque = response.type === "opaqueredirect";
    if (refused === undefined && !isOpaque) return response;
    await response.body?.cancel().catch(() => {});
    throw refused ?? new RedirectRefused(response.status, from, null, setting);
  };
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The refusal of a response that redirects; undefined for any other response. */
export function redirectIn(
  status: number,
  location: string | null | undefined,
  from: string,
  setting?: string,
): RedirectRefused | undefined {
  return REDIRECTS.has(status) ? new RedirectRefused(status, from, location ?? null, setting) : undefined;
}

export class RedirectRefused extends Error {
  override readonly name = "RedirectRefused";
  readonly statusCode: number;
  /** Where it points to: another origin, or the path on the same one. */
  readonly target: string;
  readonly isSameOrigin: boolean;
  /** What a person can do, without its full stop. */
  readonly advice: string;

  /** `setting` is what a person changes if the service has moved. */
  constructor(status: number, from: string, location: string | null, setting = "the configured address") {
    const target = location === null ? null : URL.parse(location, from);
    const asked = new URL(from);
    const { origin } = asked;
    const isSameOrigin = target?.origin === origin;
    const where = target === null ? "an unnamed address" : isSameOrigin ? origin + target.pathname : originOf(target);
    const advice = adviceOn(asked, target, setting);
    super(`${origin} redirects to ${where} (HTTP ${status}). ${NOT_FOLLOWED} ${advice}`);
    this.statusCode = status;
    this.target = where;
    this.isSameOrigin = isSameOrigin;
    this.advice = advice;
  }
}

const NOT_FOLLOWED = "Redirects are not followed, because the key and the request would be sent there too.";

function adviceOn(asked: URL, target: URL | null, setting: string): string {
  const moved = `If the service has moved, look up its new address in its documentation and change ${setting}`;
  if (target === null || !/^https?:$/.test(target.protocol)) return moved;
  if (target.hostname !== asked.hostname)
    return `That is another host. A network that wants you to sign in does this: open any page in a browser and sign in. ${moved}`;
  if (asked.protocol === "https:" && target.protocol === "http:") return `That address is not encrypted. ${moved}`;
  return `If the service is there now, change ${setting} to match`;
}

/** `origin` is "null" for what is not a web address. */
function originOf(url: URL): string {
  return url.origin === "null" ? `a ${url.protocol} address` : url.origin;
}
