import { randomUUID } from "node:crypto";
import type { FastifyBaseLogger } from "fastify";
import { pino } from "pino";
import { z } from "zod";
import { createScrubber } from "../boundary/scrubber.ts";
import { secretsIn } from "../boundary/secrets.ts";
import { type Settings, SettingsError } from "../runtime/config/settings.ts";

const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

export interface LogOptions {
  settings: Pick<Settings, "env"> & Partial<Pick<Settings, "config">>;
  /** What must never be written, beside what the settings hold: the token of the API. */
  secrets?: readonly string[];
  /** Standard error, unless a test says otherwise. */
  destination?: { write(line: string): void };
  /** Whether a person reads along: then only what is wrong is said, unless AGIRAPH_LOG_LEVEL says otherwise. */
  isTerminal?: boolean;
}

/**
 * The server's log: one JSON object per line.
 *
 * LOGS-1. Secrets are removed twice: by the name of the field, and by value wherever they occur in a line.
 */
export function createLogger({
  settings,
  secrets = [],
  destination,
  isTerminal = false,
}: LogOptions): FastifyBaseLogger {
  const level = levelIn(settings.env) ?? (isTerminal ? "warn" : "info");
  const token = secrets.map((value) => ({ name: "token", value }));
  const scrubber = createScrubber([...secretsIn(settings), ...token]);
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: "[redacted]" },
      serializers: { req: requestFields, res: responseFields, err: pino.stdSerializers.err },
      hooks: { streamWrite: (line) => scrubber.text(line) },
    },
    destination ?? standardError(),
  );
}

/** A log whose disk is full loses lines and no more: without a listener its failure would end the server. */
function standardError(): ReturnType<typeof pino.destination> {
  const stream = pino.destination({ dest: 2, sync: true, maxLength: MOST_UNWRITTEN });
  stream.on("error", () => {});
  return stream;
}

/** Bytes that wait until they can be written; what comes after them is left out. */
const MOST_UNWRITTEN = 64 * 1024;

/** For Fastify's `genReqId`: unique across restarts, short enough to quote. Clients cannot choose it. */
export function requestId(): string {
  return randomUUID().slice(0, 13);
}

const REDACTED = ["authorization", "cookie", "token", "once", "api_key", "secret", "password"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.headers.${name}`,
  `headers.${name}`,
]);

function levelIn({ AGIRAPH_LOG_LEVEL: given }: Settings["env"]) {
  if (!given) return undefined;
  const parsed = z.enum(LEVELS).safeParse(given.toLowerCase());
  if (parsed.success) return parsed.data;
  throw new SettingsError(`AGIRAPH_LOG_LEVEL is "${given}". It can be ${LEVELS.join(", ")}.`);
}

interface RequestLike {
  method?: string;
  url?: string;
  host?: string;
  ip?: string;
}

/** No headers: they bring tokens in too many ways. */
function requestFields({ method, url, host, ip }: RequestLike) {
  return { method, url: url && withoutSecrets(url), host, from: ip };
}

function responseFields({ statusCode }: { statusCode?: number }) {
  return { status: statusCode };
}

function withoutSecrets(url: string): string {
  return url.replace(/([?&](?:once|token|key|secret|signature)=)[^&#]*/gi, "$1[redacted]");
}
