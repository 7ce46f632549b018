import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { HoldPoints } from "./hold-points.ts";
import { deliver, endResponse, type ReplyDelivery } from "./provider-delivery.ts";
import { ProviderScript, type ProviderTurns, turnOf } from "./provider-script.ts";
import type { ProviderTurn } from "./provider-turn.ts";
import { parsedOr, recordOf } from "./wire/json.ts";
import { type ProviderRoute, routeOf } from "./wire/provider-route.ts";
import { replyFor } from "./wire/reply.ts";
import type { ProviderApi, WireConversation } from "./wire/wire.ts";

/**
 * A model provider on this machine that says what a test wants it to say, in the wire formats of Anthropic Messages,
 * OpenAI Responses, Chat Completions (OpenAI, OpenRouter, Ollama and others like them) and Google Gemini, streamed or
 * whole. Clients cannot tell it from the real ones.
 *
 * ```ts
 * await using provider = await startProviderServer({
 *   turns: [
 *     { calls: [{ name: "read_file", args: { path: "a.md" } }] },
 *     [{ fault: { status: 529 } }, { text: "It says hello." }],   // first try, then all others
 *   ],
 * });
 * const catalog = createCatalog({ env: provider.env, … });
 * // … let something think …
 * provider.assertDone();
 * ```
 *
 * PROVIDER-SERVER-1. Strict: what no turn is written for is answered with 500, and `assertDone` fails for it; so it
 *     does for turns that nobody asked for.
 * PROVIDER-SERVER-2. Which turn a request gets follows from the request alone (see ProviderScript).
 * PROVIDER-SERVER-3. Nothing that a client sends, or that it leaves in the middle, brings the server down.
 */
export async function startProviderServer(options: ProviderServerOptions): Promise<ProviderServer> {
  const provider = new ScriptedProvider(options);
  const server = createServer((request, response) => void provider.serve(request, response));
  // A client's idle connection must not be closed under its hands while a test thinks.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    env: environmentOf(`http://127.0.0.1:${port}`),
    requests: provider.requests,
    release: (point) => provider.holds.release(point),
    reached: (point, count) => provider.holds.reached(point, count),
    assertDone: () => provider.assertDone(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export interface ProviderServerOptions {
  /** What is answered; see ProviderTurns. */
  turns?: ProviderTurns;
  /** Asked when there are no `turns`, or none fits. Undefined means that nothing is scripted for the request. */
  respond?: (request: ProviderRequest) => ProviderTurn | undefined | Promise<ProviderTurn | undefined>;
  /** Every answer's latency, unless its turn says otherwise. */
  latencyMs?: number;
  /** Forget requests once they are answered; for long runs where nobody looks back. */
  forget?: boolean;
  /** Names told by `GET …/models` and Ollama's `GET /api/tags`. */
  models?: readonly string[];
  port?: number;
}

export interface ProviderServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Base addresses and keys of all providers, by their usual names, all pointing here. */
  readonly env: Readonly<Record<string, string>>;
  /** Every request for a reply so far, in order of arrival. */
  readonly requests: readonly ProviderRequest[];
  /** Releases a point (`hold`, `holdMidway`, or `"stall"`) for good. */
  release(point: string): void;
  /** Resolves when at least `count` answers have come to the point. */
  reached(point: string, count?: number): Promise<void>;
  /** Throws when something was asked for that is not scripted, or scripted and not asked for. */
  assertDone(): void;
  close(): Promise<void>;
}

export interface ProviderRequest extends WireConversation {
  api: ProviderApi;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  model: string;
  stream: boolean;
  /** How many assistant turns the conversation already holds. */
  turn: number;
  /** The body as the client sent it, parsed. */
  body: Readonly<Record<string, unknown>>;
  /** How it ended: answered to the last byte, cut by a fault, or left by the client. */
  ending: Promise<"answered" | "cut" | "left">;
}

/** Reads requests, has their answers chosen and sent, and remembers what happened. */
class ScriptedProvider {
  readonly requests: ProviderRequest[] = [];
  readonly holds = new HoldPoints();
  readonly #options: ProviderServerOptions;
  readonly #script: ProviderScript | undefined;
  readonly #problems: string[] = [];
  #served = 0;

  constructor(options: ProviderServerOptions) {
    this.#options = options;
    this.#script = options.turns && new ProviderScript(options.turns);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    try {
      const text = await bodyOf(request);
      const route = request.method === "POST" ? routeOf(path) : undefined;
      if (route) await this.#answer(route, request, text, response);
      else if (request.headers.upgrade) refuseUpgrade(response);
      else this.#describe(request.method ?? "", path, response);
    } catch (error) {
      // A client that left while it was still sending is not a problem of the script; anything else is.
      if (!request.destroyed || request.complete)
        this.#problems.push(`${request.method} ${path}: ${error instanceof Error ? error.stack : error}`);
      response.destroy();
    }
  }

  assertDone(): void {
    const unplayed = this.#script?.unplayed() ?? [];
    const problems = [...this.#problems, ...unplayed.map((turn) => `never asked for: ${turn}`)];
    if (problems.length > 0)
      throw new Error(`The scripted provider is not done.\n${problems.map((problem) => `- ${problem}`).join("\n")}`);
  }

  async #answer(route: ProviderRoute, request: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
    const number = ++this.#served;
    const body = recordOf(parsedOr(text));
    const conversation = route.wire.read(body);
    const { ending, onCut } = endingOf(response);
    const heard: ProviderRequest = {
      ...conversation,
      api: route.api,
      path: request.url ?? "",
      headers: request.headers,
      model: route.model ?? String(body.model ?? ""),
      stream: route.stream ?? body.stream === true,
      turn: turnOf(conversation),
      body,
      ending,
    };
    if (!this.#options.forget) this.requests.push(heard);
    const turn = await this.#choose(heard);
    const reply = replyFor(turn, heard, number, text.length);
    const delivery: ReplyDelivery = { response, gone: ending, holds: this.holds, onCut };
    await deliver(
      { ...(this.#options.latencyMs === undefined ? {} : { latencyMs: this.#options.latencyMs }), ...turn },
      route.wire,
      reply,
      heard.stream,
      delivery,
    );
  }

  async #choose(request: ProviderRequest): Promise<ProviderTurn> {
    const chosen = this.#script?.choose(request) ?? { problem: "there is no script" };
    if ("turn" in chosen) return chosen.turn;
    const turn = await this.#options.respond?.(request);
    if (turn) return turn;
    const problem =
      this.#script || !this.#options.respond ? chosen.problem : `respond() gave nothing for turn ${request.turn + 1}`;
    this.#problems.push(`not scripted: ${request.api} request ${this.#served}: ${problem}`);
    return { fault: { status: 500, message: `The scripted provider has no answer: ${problem}.` } };
  }

  #describe(method: string, path: string, response: ServerResponse): void {
    const known = method === "GET" ? catalogPage(path, this.#options.models ?? ["scripted-model"]) : undefined;
    if (!known) this.#problems.push(`not scripted: ${method} ${path} is no route of any provider`);
    const unknown = {
      error: { message: `The scripted provider knows no ${method} ${path}.`, type: "not_found_error" },
    };
    endResponse(response, known ? 200 : 404, "application/json", JSON.stringify(known ?? unknown));
  }
}

/** What clients look up before they ask for a reply: which models there are, whether Ollama is there. */
function catalogPage(path: string, models: readonly string[]): unknown {
  const [pathname = ""] = path.split("?");
  if (pathname.endsWith("/api/version")) return { version: "0.0.0-scripted" };
  if (pathname.endsWith("/api/tags")) return { models: models.map((name) => ({ name, model: name })) };
  if (!pathname.endsWith("/models")) return undefined;
  return { object: "list", data: models.map((id) => ({ id, object: "model", created: 0, owned_by: "scripted" })) };
}

/** Codex asks for a WebSocket first. After any other refusal it tries that again for ten seconds. */
function refuseUpgrade(response: ServerResponse): void {
  endResponse(response, 426, "text/plain", "The scripted provider speaks HTTP/1.1 only.");
}

function environmentOf(url: string): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: "test-key-anthropic",
    ANTHROPIC_BASE_URL: url,
    OPENAI_API_KEY: "test-key-openai",
    OPENAI_BASE_URL: `${url}/v1`,
    GEMINI_API_KEY: "test-key-gemini",
    GEMINI_BASE_URL: url,
    OPENROUTER_API_KEY: "test-key-openrouter",
    OPENROUTER_BASE_URL: `${url}/openrouter/api/v1`,
    OLLAMA_BASE_URL: `${url}/ollama`,
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString("utf8");
}

function endingOf(response: ServerResponse): { ending: ProviderRequest["ending"]; onCut: () => void } {
  let unanswered: "cut" | "left" = "left";
  const ending = new Promise<"answered" | "cut" | "left">((resolve) => {
    response.once("close", () => resolve(response.writableFinished ? "answered" : unanswered));
  });
  return {
    ending,
    onCut() {
      unanswered = "cut";
    },
  };
}
