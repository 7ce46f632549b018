import { type AnswerOpening, isWebPage } from "./answer-opening.ts";
import { type FailureReason, ModelFailure } from "./model.ts";

/** What a person can look at when a provider does not answer as it should. */
export interface ProviderContact {
  /** The variable that holds its key, if it has one. */
  keyVariable?: string | null;
  address?: ProviderAddress;
}

export interface ProviderAddress {
  /** Without what may be secret in it. */
  origin: string;
  /** The setting that it comes from; null if it is the provider's own. */
  setting: string | null;
}

/**
 * Whatever an SDK throws or streams as an error, as one ModelFailure.
 *
 * The request that failed is not kept as the cause: it holds the whole conversation.
 */
export function modelFailureOf(
  error: unknown,
  model: string,
  now: number,
  contact: ProviderContact = {},
): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const found = describe(error);
  const reason = reasonOf(found);
  const status = found.status;
  const retryAfterMs = waitAskedFor(found, now);
  return new ModelFailure(reason, messageOf(model, reason, found, contact), {
    retryable: isRetryable(reason, found),
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** The provider sent something undocumented and continued: nothing is lost that we could use. */
export function isHarmless(error: unknown): boolean {
  return nameOf(error) === "AI_TypeValidationError";
}

/** The SDK's error for a stream that ended before the provider said why. */
export function isCutStream(error: unknown): boolean {
  return nameOf(error) === "AI_InvalidResponseDataError" && field(error, "data") === undefined;
}

export function truncated(model: string): ModelFailure {
  return new ModelFailure("truncated", `The reply of ${model} was cut off before its end and is discarded.`, {
    retryable: true,
  });
}

/** An answer with nothing of a reply in it. */
export function notAReply(model: string, opening: AnswerOpening, { address }: ProviderContact): ModelFailure {
  const reason = opening.isEmptyStream ? "truncated" : "unreadable";
  return new ModelFailure(reason, `${model} answered with ${opening.what()}. ${addressAdvice(address)}`, {
    retryable: true,
  });
}

function addressAdvice(address: ProviderAddress | undefined): string {
  if (address === undefined) return "If this keeps happening, check the base URL.";
  const { origin, setting } = address;
  if (setting !== null)
    return `Is ${setting} (${origin}) right? A network that wants you to sign in answers like this, too.`;
  return `Something may have answered in place of ${origin}: a proxy, or a network that wants you to sign in.`;
}

interface Described {
  name: string;
  message: string;
  status: number | undefined;
  code: string;
  body: string;
  headers: Record<string, string>;
  network: string | undefined;
}

function describe(error: unknown): Described {
  const inner = field(error, "error");
  const message = text(field(error, "message")) || text(field(inner, "message")) || text(error) || "no message";
  const status = [field(error, "statusCode"), field(error, "status"), field(error, "code"), field(inner, "code")].find(
    isStatus,
  );
  const headers = field(error, "responseHeaders");
  return {
    name: nameOf(error),
    message,
    status,
    code: [field(error, "code"), field(error, "type"), field(inner, "code"), field(inner, "type")].map(text).join(" "),
    body: text(field(error, "responseBody")).slice(0, 20_000),
    headers: headers instanceof Object ? Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, text(v)])) : {},
    network: networkCode(error),
  };
}

const TOO_LONG =
  /context[ _-]?(length|window)|prompt is too long|maximum context|too many (input )?tokens|input token count|exceeds? (the )?(model'?s? )?max(imum)? (number of )?(input )?tokens|request_too_large|input is too long|exceed_context_size/i;
const OVERLOADED = /overloaded|rate.?limit|too many requests|resource_exhausted/i;
const OUT_OF_CREDIT = /insufficient_quota|exceeded your current quota|billing|credit balance|insufficient credits/i;

function reasonOf(found: Described): FailureReason {
  const { status, code, message, body } = found;
  const words = `${code} ${message} ${body}`;
  // A 200 whose body broke is a broken connection, whatever the status says.
  if (found.name === "RedirectRefused") return "redirected";
  if (found.network !== undefined) return "connection";
  if (status === 401 || status === 403) return "auth";
  if (status === 429 || status === 529) return "rate_limited";
  if ((status === undefined || (status >= 400 && status < 500)) && TOO_LONG.test(words)) return "context_too_long";
  if (status === 408 || status === 409 || status === 425) return "server";
  if (status !== undefined && status >= 400 && status < 500) return "bad_request";
  if (status !== undefined && status >= 500) return OVERLOADED.test(words) ? "rate_limited" : "server";
  if (OVERLOADED.test(words)) return "rate_limited";
  if (/server_error|api_error|internal|unavailable|timeout/i.test(code)) return "server";
  if (found.name === "AI_APICallError" && status === undefined) return "connection";
  if (UNSENDABLE.has(found.name)) return "bad_request";
  return UNREADABLE.has(found.name) || status === 200 ? "unreadable" : "unknown";
}

const UNSENDABLE = new Set([
  "AI_InvalidPromptError",
  "AI_InvalidArgumentError",
  "AI_UnsupportedFunctionalityError",
  "AI_LoadAPIKeyError",
  "AI_NoSuchModelError",
]);

const UNREADABLE = new Set([
  "AI_JSONParseError",
  "SyntaxError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
  // What the adapters throw when a stream makes no sense to them.
  "Error",
  "TypeError",
]);

function isRetryable(reason: FailureReason, found: Described): boolean {
  if (reason === "rate_limited") return !OUT_OF_CREDIT.test(`${found.code} ${found.message} ${found.body}`);
  return reason === "server" || reason === "connection" || reason === "unreadable";
}

const ADVICE: Partial<Record<FailureReason, string>> = {
  auth: "Check the provider's key.",
  context_too_long: "The conversation has to be compacted before it is sent again.",
  connection: "Check the network and the base URL.",
};

function messageOf(
  model: string,
  reason: FailureReason,
  found: Described,
  { keyVariable, address }: ProviderContact,
): string {
  const isAnswer = found.status !== undefined && reason !== "connection" && reason !== "redirected";
  if (isAnswer && isWebPage(found.body))
    return `${model} answered ${found.status} with a web page instead of a model's reply. ${addressAdvice(address)}`;
  if (isParseError(found)) return `The reply of ${model} is garbled: a part of it is not JSON. Nothing of it is used.`;
  const said = found.message
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 500)
    .replace(/[.\s]+$/, "");
  if (found.network === "ECONNREFUSED") return `${model} failed: ${nobodyThere(said, address)}`;
  if (reason === "connection" && found.status === 200)
    return `${model} failed: the connection broke off in the middle of the reply. ${ADVICE.connection}`;
  const answered = isAnswer ? `answered ${found.status}` : "failed";
  const advice = reason === "auth" && keyVariable ? `Check the key in ${keyVariable}.` : ADVICE[reason];
  return `${model} ${answered}: ${said}.${advice === undefined ? "" : ` ${advice}`}`;
}

function nobodyThere(said: string, address: ProviderAddress | undefined): string {
  if (address === undefined) return `${said}. ${ADVICE.connection}`;
  const { origin, setting } = address;
  return `nothing listens at ${origin} (${said}). Start the server there${setting ? `, or correct ${setting}` : ""}. ${ADVICE.connection}`;
}

/** One SDK hides it behind an error about itself. */
function isParseError({ name, message }: Described): boolean {
  return name === "AI_JSONParseError" || name === "SyntaxError" || message.startsWith("Expected a normalized ");
}

/** What the provider asked us to wait, by header (milliseconds, seconds or a date) or, as Gemini does, in the body. */
function waitAskedFor({ headers, body }: Described, now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const after = headers["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000;
  const date = after === "" ? Number.NaN : Date.parse(after);
  if (Number.isFinite(date)) return Math.max(0, date - now);
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Number(delay) * 1000;
}

const NETWORK =
  /^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOST|ENET|UND_ERR_|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

function networkCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Object; depth++) {
    const code = field(current, "code");
    if (typeof code === "string" && NETWORK.test(code)) return code;
    current = field(current, "cause");
  }
  return undefined;
}

function nameOf(error: unknown): string {
  return text(field(error, "name"));
}

function isStatus(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 200 && value < 600;
}

function field(value: unknown, key: string): unknown {
  return value instanceof Object ? Reflect.get(value, key) : undefined;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
