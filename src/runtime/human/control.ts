import { chmod, rm } from "node:fs/promises";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";
import { problemsIn } from "../../boundary/unknown-field.ts";
import { triggerOrderSchema } from "../../tools/schedule.ts";
import { HumanRefusal, LONGEST_WORDS } from "./human-refusal.ts";

const agent = z.string();
const text = z.string().trim().min(1).max(LONGEST_WORDS);

/** What another terminal may ask of the process that holds the home: one JSON line in, one out. */
const requestSchema = z.discriminatedUnion("do", [
  z.strictObject({ do: z.enum(["stop", "pause", "seen", "archive", "restore"]), agent }),
  z.strictObject({ do: z.literal("send"), agent, text, to: z.string().min(1).optional() }),
  z.strictObject({ do: z.literal("respond"), agent, text, question_id: z.string().min(1).optional() }),
  z.strictObject({ do: z.literal("nudge"), agent, text }),
  z.strictObject({ do: z.literal("model"), agent, model: z.string().min(1).max(200) }),
  z.strictObject({ do: z.literal("revoke"), agent, permission: z.string().min(1) }),
  z.strictObject({ do: z.literal("assign"), agent, node: z.string().min(1), to: z.string().min(1) }),
  z.strictObject({ do: z.literal("cancel"), agent, node: z.string().min(1), text: text.optional() }),
  z.strictObject({ do: z.literal("publish"), agent, node: z.string().min(1), text: text.optional() }),
  z.strictObject({ do: z.literal("schedule"), agent, order: triggerOrderSchema }),
  z.strictObject({ do: z.enum(["cancel_trigger", "pause_trigger", "resume_trigger"]), agent, trigger_id: z.string() }),
]);
export type ControlRequest = z.infer<typeof requestSchema>;

/** `elsewhere`: the process that listens does not have this agent. */
const answerSchema = z.object({
  ok: z.boolean(),
  message: z.string(),
  code: z.enum(["not_found", "conflict", "bad_request", "elsewhere"]).optional(),
});
export type ControlAnswer = z.infer<typeof answerSchema>;

/** This process holds the home, but does not work on the agent. */
export class NotHere extends Error {
  override readonly name = "NotHere";
}

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
  // Accepting a connection can fail, for example when no descriptors are left. The other terminal tries again.
  server.on("error", () => {});
  // Who may write to it may command; its mode is what the umask left of 0777.
  await chmod(path, 0o600);
  server.unref();
  return server;
}

async function answerTo(line: string, answer: (request: ControlRequest) => Promise<string>): Promise<ControlAnswer> {
  try {
    const request = requestSchema.safeParse(JSON.parse(line));
    if (!request.success) return { ok: false, message: problemsIn(request.error, requestSchema) };
    return { ok: true, message: await answer(request.data) };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error), ...codeOf(error) };
  }
}

function codeOf(error: unknown): Pick<ControlAnswer, "code"> {
  if (error instanceof HumanRefusal) return { code: error.code };
  return error instanceof NotHere ? { code: "elsewhere" } : {};
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
