import { once } from "node:events";
import type { AgentId, Fact } from "../../protocol/index.ts";
import type { Environment } from "../config/settings.ts";

export interface Telemetry {
  hear(fact: Fact): void;
  /** Sends what is left; never rejects, and gives up soon when nobody answers. */
  close(): Promise<void>;
}

export interface TelemetryPorts {
  now(): number;
  /** Of an agent that is open. */
  nameOf(id: AgentId): string | undefined;
}

/** Where traces go, by OpenTelemetry's own variables; undefined if telemetry is off. */
export function tracesUrl(env: Environment): string | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  if (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return base ? `${base.replace(/\/+$/, "")}/v1/traces` : undefined;
}

/** Spans over OTLP/HTTP. The libraries are loaded only here, if telemetry is on. */
export async function startTelemetry(
  url: string,
  env: Environment,
  { now, nameOf }: TelemetryPorts,
): Promise<Telemetry> {
  const [
    { BatchSpanProcessor, TracerProvider },
    { OTLPTraceExporter },
    { defaultResource, resourceFromAttributes },
    spans,
  ] = await Promise.all([
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
    import("./spans.ts"),
  ]);
  const given = env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS;
  const exporter = new OTLPTraceExporter({
    url,
    timeoutMillis: GIVE_UP_MS,
    ...(given && { headers: headersIn(given) }),
  });
  const service = resourceFromAttributes({ "service.name": env.OTEL_SERVICE_NAME ?? "agiraph" });
  const provider = new TracerProvider({
    resource: defaultResource().merge(service),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: GIVE_UP_MS })],
  });
  const reader = new spans.Spans(provider.getTracer("agiraph"), nameOf);
  return {
    hear: reader.hear,
    close: async () => {
      reader.close(new Date(now()));
      const late = AbortSignal.timeout(LAST_WORDS_MS);
      await Promise.race([provider.shutdown().catch(() => {}), once(late, "abort")]);
    },
  };
}

const GIVE_UP_MS = 3_000;
/** Nobody waits longer than this for a collector that does not answer. */
const LAST_WORDS_MS = 1_000;

/** `name=value,name=value`, percent-encoded. */
function headersIn(text: string): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const] : [];
  });
  return Object.fromEntries(pairs);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
