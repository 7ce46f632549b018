import { createInterface } from "node:readline";

/**
 * Runs beside a program that knows MCP servers on standard input and output only: hands each message to our server at
 * the given address, and its answers back. It decides nothing; the program could ask that server itself. It stands alone:
 * it is copied to where the program can see it.
 */
const url = process.env.AGIRAPH_DOOR_URL ?? "";
const token = process.env.AGIRAPH_DOOR_TOKEN ?? "";
let session: string | undefined;
let version: string | undefined;
let open = 0;
let isOver = false;

const input = createInterface({ input: process.stdin });
// In order up to the first answer, so that nothing goes before `initialize`; then side by side.
let before: Promise<void> = Promise.resolve();
input.on("line", (line) => {
  if (line.trim() === "") return;
  open++;
  const passed = session === undefined && version === undefined ? before.then(() => pass(line)) : pass(line);
  before = passed.finally(() => {
    open--;
    if (isOver && open === 0) process.exit(0);
  });
});
input.on("close", () => {
  isOver = true;
  if (open === 0) process.exit(0);
});

async function pass(line: string): Promise<void> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(session ? { "mcp-session-id": session } : {}),
        ...(version ? { "mcp-protocol-version": version } : {}),
      },
      body: line,
      // The token is for this server and not for one that it may redirect to.
      redirect: "error",
    });
    session = response.headers.get("mcp-session-id") ?? session;
    if (!response.ok)
      return fail(line, `The server answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) await passEvents(response);
    else answer(await response.text());
  } catch (error) {
    fail(line, `The server cannot be reached: ${error instanceof Error ? error.message : error}`);
  }
}

async function passEvents(response: Response): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split(/\r?\n\r?\n/);
    text = events.pop() ?? "";
    for (const event of events) answer(dataOf(event));
  }
}

function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
}

function answer(text: string): void {
  if (text.trim() === "") return;
  const message: unknown = JSON.parse(text);
  version ??= versionIn(message);
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function versionIn(message: unknown): string | undefined {
  const result = field(message, "result");
  const found = field(result, "protocolVersion");
  return typeof found === "string" ? found : undefined;
}

/** Only who asks is answered. */
function fail(line: string, message: string): void {
  let id: unknown;
  try {
    id = field(JSON.parse(line), "id");
  } catch {
    id = null;
  }
  if (id !== undefined) answer(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_603, message } }));
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
