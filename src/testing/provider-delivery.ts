import type { ServerResponse } from "node:http";
import type { HoldPoints } from "./hold-points.ts";
import type { Fault, ProviderTurn } from "./provider-turn.ts";
import type { ProviderWire, WireReply } from "./wire/wire.ts";

/** The point at which stalled answers wait: `server.release("stall")`, `server.reached("stall")`. */
const STALL = "stall";

export interface ReplyDelivery {
  response: ServerResponse;
  /** Resolves when the connection is over, whichever side ended it. */
  gone: Promise<unknown>;
  holds: HoldPoints;
  /** Called before a fault breaks the connection, so that the client is not blamed for it. */
  onCut: () => void;
}

/** Sends one answer, with whatever is to go wrong on the way. */
export async function deliver(
  turn: ProviderTurn,
  wire: ProviderWire,
  reply: WireReply,
  stream: boolean,
  delivery: ReplyDelivery,
): Promise<void> {
  const { response, holds, gone } = delivery;
  const fault = turn.fault ?? NO_FAULT;
  if (turn.hold !== undefined) await holds.pass(turn.hold, gone);
  if (turn.latencyMs !== undefined) await after(turn.latencyMs);
  if ("stall" in fault && fault.stall === "before_headers") await holds.pass(STALL, gone);
  if (response.destroyed) return;
  if ("reset" in fault && fault.reset === "before_headers") return reset(delivery);
  if ("status" in fault) return refuse(fault, wire, response);
  if ("webPage" in fault)
    return endResponse(response, 200, "text/html", "<!doctype html><title>Sign in to the network</title>");
  if (!stream) return deliverWhole(turn, JSON.stringify(wire.whole(reply)), delivery);
  await deliverStream(turn, wire, reply, delivery);
}

async function deliverStream(
  turn: ProviderTurn,
  wire: ProviderWire,
  reply: WireReply,
  delivery: ReplyDelivery,
): Promise<void> {
  const { response } = delivery;
  const fault = turn.fault ?? NO_FAULT;
  const { frames, ending } = wire.stream(reply);
  const middle = Math.ceil(ending / 2);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  if ("shredded" in fault) return shred(frames.join(""), delivery);
  if ("truncate" in fault) {
    await send(frames.slice(0, fault.truncate === "midway" ? middle : ending), delivery);
    return void response.end();
  }
  await send(frames.slice(0, middle), delivery);
  if (!(await waitMidway(turn, delivery))) return;
  if ("badJson" in fault) await send(['data: {"broken": "li\n\n'], delivery);
  if ("streamError" in fault) {
    await send([wire.streamError(fault.streamError)], delivery);
    return void response.end();
  }
  await send(frames.slice(middle), delivery);
  response.end();
}

async function deliverWhole(turn: ProviderTurn, text: string, delivery: ReplyDelivery): Promise<void> {
  const { response } = delivery;
  const fault = turn.fault ?? NO_FAULT;
  if ("badJson" in fault || "streamError" in fault)
    return endResponse(response, 200, "application/json", text.slice(0, -1));
  const body = Buffer.from(text);
  const cut = "truncate" in fault && fault.truncate === "before_finish" ? body.length - 1 : body.length >> 1;
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  await send([body.subarray(0, cut)], delivery);
  if ("truncate" in fault) {
    await flushed(delivery);
    return reset(delivery);
  }
  if (await waitMidway(turn, delivery)) response.end(body.subarray(cut));
}

/** False when there is nobody left to send the rest to. */
async function waitMidway(turn: ProviderTurn, delivery: ReplyDelivery): Promise<boolean> {
  const { response, holds, gone } = delivery;
  const { holdMidway, fault = NO_FAULT } = turn;
  if (holdMidway !== undefined) await holds.pass(holdMidway, gone);
  if ("stall" in fault && fault.stall === "midway") await holds.pass(STALL, gone);
  if (response.destroyed) return false;
  if (!("reset" in fault)) return true;
  // A reset overtakes what lies in the socket's buffer; the half that was sent shall arrive first.
  await flushed(delivery);
  reset(delivery);
  return false;
}

async function send(frames: readonly (string | Buffer)[], { response, gone }: ReplyDelivery): Promise<void> {
  for (const frame of frames) {
    if (response.destroyed) return;
    if (!response.write(frame)) await Promise.race([new Promise((resolve) => response.once("drain", resolve)), gone]);
  }
}

/** Seven bytes at a time: no line, no event and hardly a character longer than that arrives whole. */
async function shred(text: string, delivery: ReplyDelivery): Promise<void> {
  const { response } = delivery;
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length && !response.destroyed; at += 7) {
    response.write(bytes.subarray(at, at + 7));
    await flushed(delivery);
  }
  response.end();
}

function refuse(
  { status, message, body, retryAfter, headers }: Extract<Fault, { status: number }>,
  wire: ProviderWire,
  response: ServerResponse,
) {
  if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
  endResponse(
    response,
    status,
    "application/json",
    body ?? JSON.stringify(wire.refusal(status, message ?? `A scripted error ${status}.`)),
  );
}

export function endResponse(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function reset({ response, onCut }: ReplyDelivery): void {
  onCut();
  response.socket?.resetAndDestroy();
}

/** Resolves when the socket holds nothing back, or nobody is left to take it. */
async function flushed({ response, gone }: ReplyDelivery): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (response.writableLength > 0)
    await Promise.race([new Promise((resolve) => response.once("drain", resolve)), gone]);
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Not an absent fault but one of no kind, so that asking for a kind needs no second question. */
const NO_FAULT: Fault | { none: true } = { none: true };
