import {
  type DeltaFrame,
  deltaFrameSchema,
  eventSchema,
  type RestFrame,
  restFrameSchema,
} from "../protocol/api/events.ts";
import type { Fact } from "../protocol/index.ts";
import { ApiError, type Transport } from "./transport.ts";

/**
 * Receives the events of an agent. Each fact comes once and in order, and the words of a reply come before the fact
 * that ends it.
 */
export interface Onlooker {
  fact(fact: Fact): void;
  delta?(delta: DeltaFrame): void;
  /** Nobody works on it any more, and its files are written. */
  rest?(rest: RestFrame): void;
}

/**
 * Follows an agent from after a given fact. Resolves when the connection is lost or the signal fires; the next call
 * continues after the last fact received. Rejects if the server refuses or has another version, or if the onlooker
 * throws, with that error.
 */
export function followAgent(
  transport: Transport,
  { id, after }: { id: string; after: number },
  onlooker: Onlooker,
  signal: AbortSignal,
): Promise<void> {
  const path = `/agents/${encodeURIComponent(id)}/events?after=${after}&watch=1`;
  const socket = transport.socket(path);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = () => socket.close();
  signal.addEventListener("abort", leave, { once: true });
  const fail = (error: unknown) => {
    reject(error);
    socket.close();
  };
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string" || signal.aborted) return;
    const tell = tellingOf(data);
    if (!tell) return fail(otherVersion(transport.url));
    try {
      tell(onlooker);
    } catch (error) {
      fail(error);
    }
  });
  // What follows says the same: it is closed.
  socket.addEventListener("error", () => {});
  socket.addEventListener("close", ({ code, reason }) => {
    signal.removeEventListener("abort", leave);
    if (code < FIRST_OWN_CODE) resolve();
    else
      reject(ASKED_TO_WATCH.test(reason) ? otherVersion(transport.url) : new ApiError(code - 4000, "refused", reason));
  });
  if (signal.aborted) leave();
  return promise;
}

/** A server that does not know `watch` refuses it by its name, in one of these ways. */
const ASKED_TO_WATCH = /^watch:|"watch"/;

/** Ours are 4000 and the code that HTTP has for it. */
const FIRST_OWN_CODE = 4000;

/** What a frame tells an onlooker; nothing where it is not one that this version knows. */
function tellingOf(data: string): ((onlooker: Onlooker) => void) | undefined {
  try {
    const frame: unknown = JSON.parse(data);
    const type = typeof frame === "object" && frame !== null && "type" in frame ? frame.type : undefined;
    if (type === "delta") {
      const delta = deltaFrameSchema.parse(frame);
      return (onlooker) => onlooker.delta?.(delta);
    }
    if (type === "rest") {
      const rest = restFrameSchema.parse(frame);
      return (onlooker) => onlooker.rest?.(rest);
    }
    const fact = eventSchema.parse(frame) as unknown as Fact;
    return (onlooker) => onlooker.fact(fact);
  } catch {
    return undefined;
  }
}

function otherVersion(url: string): ApiError {
  const message = `The process at ${url} is of another version of Agiraph. Start it again, and try once more.`;
  return new ApiError(400, "other_version", message);
}
