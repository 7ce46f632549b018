import type { Stream } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { RunningProgram } from "../../../sandbox/program.ts";
import { linesOf } from "../session/output-lines.ts";

/**
 * The messages of an ACP agent, one JSON object a line.
 *
 * ACP-STREAM-1. A line that is not a message is given to `note` and goes no further: the protocol's library would write
 *     it to our terminal.
 * ACP-STREAM-2. Notifications are taken here, in their place among the answers: the library would not say which came
 *     first.
 * ACP-STREAM-3. A line is read when the one before it is done with and there is `room`; so a flood waits in the
 *     program.
 */
export function messagesOf(running: RunningProgram, reader: AcpReader): Stream {
  const asked = new Set<unknown>();
  // `ended` says that the program has gone: that it does not read what it is sent adds nothing.
  running.stdin.on("error", () => {});
  return {
    readable: ReadableStream.from(understood(running, asked, reader)),
    writable: new WritableStream({
      write(message) {
        if ("method" in message && "id" in message) asked.add(message.id);
        return new Promise<void>((resolve, reject) => {
          running.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
        });
      },
    }),
  };
}

export interface AcpReader {
  note(text: string): void;
  room(): Promise<void>;
  notified(method: string, params: unknown): void;
}

type WireMessage = Stream extends { readable: ReadableStream<infer M> } ? M : never;

async function* understood(
  running: RunningProgram,
  asked: Set<unknown>,
  { note, room, notified }: AcpReader,
): AsyncGenerator<WireMessage> {
  for await (const line of linesOf(running.stdout)) {
    await room();
    if (line?.trim() === "") continue;
    const message = line === null ? undefined : messageIn(line, asked);
    if (message && "method" in message && !("id" in message)) notified(message.method, message.params);
    else if (message) yield message;
    else
      note(
        line === null ? "It sent a line too long to be read." : `It sent a line that is not a message: ${gist(line)}`,
      );
  }
}

const idSchema = z.union([z.string(), z.number()]);
const requestSchema = z.looseObject({ jsonrpc: z.literal("2.0"), id: idSchema.optional(), method: z.string() });
const errorSchema = z.looseObject({ code: z.number(), message: z.string() });
const responseSchema = z.union([
  z.looseObject({ jsonrpc: z.literal("2.0"), id: idSchema, error: errorSchema }),
  z.looseObject({ jsonrpc: z.literal("2.0"), id: idSchema, result: z.unknown().optional() }),
]);

function messageIn(line: string, asked: Set<unknown>): WireMessage | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  const request = requestSchema.safeParse(json);
  if (request.success) return request.data as WireMessage;
  const response = responseSchema.safeParse(json);
  return response.success && asked.delete(response.data.id) ? (response.data as WireMessage) : undefined;
}

function gist(line: string): string {
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
