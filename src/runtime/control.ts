import { rm } from "node:fs/promises";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";

/** What another terminal may ask of the process that holds the home: one JSON line in, one out. */
const requestSchema = z.strictObject({ do: z.enum(["stop", "pause"]), agent: z.string() });
export type ControlRequest = z.infer<typeof requestSchema>;

const answerSchema = z.object({ ok: z.boolean(), message: z.string() });
export type ControlAnswer = z.infer<typeof answerSchema>;

export async function listenForControl(
  path: string,
  answer: (request: ControlRequest) => Promise<string>,
): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    // The reader repeats the socket's errors; unheard there, they would end the process.
    const lines = createInterface({ input: socket }).on("error", () => {});
    lines.once("line", async (line) => {
      socket.end(`${JSON.stringify(await answerTo(line, answer))}\n`);
    });
  });
  // Whoever listens holds the home's lock, so a socket that is still there belongs to a process that died.
  await rm(path, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(path, resolve);
  await promise;
  server.unref();
  return server;
}

async function answerTo(line: string, answer: (request: ControlRequest) => Promise<string>): Promise<ControlAnswer> {
  try {
    return { ok: true, message: await answer(requestSchema.parse(JSON.parse(line))) };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

/** Resolves with undefined when nobody listens there. */
export async function askControl(path: string, request: ControlRequest): Promise<ControlAnswer | undefined> {
  const socket: Socket = createConnection(path);
  const { promise, resolve, reject } = Promise.withResolvers<ControlAnswer | undefined>();
  socket.on("error", () => resolve(undefined));
  socket.on("connect", () => socket.write(`${JSON.stringify(request)}\n`));
  const lines = createInterface({ input: socket }).on("error", () => resolve(undefined));
  lines.once("line", (line) => {
    try {
      resolve(answerSchema.parse(JSON.parse(line)));
    } catch (error) {
      reject(error);
    }
  });
  socket.on("close", () => resolve(undefined));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
