import { setTimeout } from "node:timers/promises";
import {
  Client,
  type ElicitRequest,
  type ElicitResult,
  type Tool as ListedTool,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { orAbort } from "../boundary/or-abort.ts";
import type { McpServerConfig } from "../protocol/config.ts";
import { refusal, type ToolOutput } from "../tools/tool.ts";
import { withoutControls } from "../tools/web-foreign.ts";
import { listTools, MAX_PAGES } from "./list-tools.ts";
import { resultText, said } from "./result-text.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { type McpTransport, newTransport } from "./transport.ts";

export interface McpPorts {
  env: Readonly<Record<string, string | undefined>>;
  now(): number;
  /** How long somebody waits for servers before beginning without them; what comes later is there from the next turn on. */
  patienceMs?: number;
  /** Answers what a server wants to know from a person; absent, servers are told that nobody can be asked. */
  elicit?(server: string, request: ElicitRequest["params"]): Promise<ElicitResult>;
}

export type ServerState = { is: "unopened" } | { is: "up"; tools: number; about: string } | { is: "down"; why: string };

/** How long a server may take to start, and to say whether it supports the newest revision. */
const OPENING_MS = 30_000;
const PROBE_MS = 5_000;
const CALL_SECONDS = 60;
/** However much progress it reports. */
const LONGEST_CALL_MS = 3_600_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
const MAX_WHY = 600;
/** A server that says all the time that its tools have changed is asked for them no more often. */
const REFRESH_MS = 10_000;
/**
 * A connection to one MCP server, opened when it is first needed and again after it was lost.
 *
 * MCP-CONNECTION-1. Nothing here rejects except by the caller's signal: a broken server is a result in words.
 * MCP-CONNECTION-2. A call runs at most once. One that was in progress when the connection was lost is answered
 *     "outcome unknown".
 * MCP-CONNECTION-3. It is reopened only when somebody needs it, with a longer pause after each consecutive failure, so
 *     a broken server costs next to nothing. An answered call resets the pause.
 */
export class McpConnection {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly #ports: McpPorts;
  #client: Client | undefined;
  #transport: McpTransport | undefined;
  #opening: Promise<Client> | undefined;
  #listed: readonly ListedTool[] = [];
  #failures = 0;
  #notBefore = 0;
  #why: string | undefined;
  #isOld = false;
  #isClosed = false;
  #refreshing: Promise<void> | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #isStale = false;

  constructor(name: string, config: McpServerConfig, ports: McpPorts) {
    this.name = name;
    this.config = config;
    this.#ports = ports;
  }

  /** The tools it has, as it said last: a server that went away for a moment keeps them. */
  get listed(): readonly ListedTool[] {
    return this.#listed;
  }

  /** Whether anybody has wanted it yet. */
  get isWanted(): boolean {
    return this.#client !== undefined || this.#opening !== undefined || this.#why !== undefined;
  }

  get state(): ServerState {
    if (this.#client) {
      const { name = "", version = "" } = this.#client.getServerVersion() ?? {};
      const revision = this.#client.getNegotiatedProtocolVersion() ?? "";
      return { is: "up", tools: this.#listed.length, about: bounded(`${name} ${version}, MCP ${revision}`) };
    }
    return this.#why === undefined ? { is: "unopened" } : { is: "down", why: this.#why };
  }

  /** Resolves when it is open, or known not to be. */
  async open(): Promise<void> {
    await this.#opened().catch(() => {});
  }

  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutput> {
    for (const isLast of [false, true]) {
      let client: Client;
      try {
        client = await orAbort(this.#opened(), signal);
      } catch {
        signal.throwIfAborted();
        return refusal(`${tool} did not run. ${this.#downWords()}`);
      }
      try {
        const result = await client.callTool({ name: tool, arguments: args }, this.#callOptions(signal));
        this.#failures = 0;
        return resultText(this.name, result);
      } catch (error) {
        signal.throwIfAborted();
        // It was begun anew and knows nothing of us: nothing was run, and we greet it again.
        if (isLast || !isForgotten(error)) return this.#failed(client, tool, error);
        await this.#drop(client, "It has forgotten us.");
      }
    }
    return refusal(`${tool} did not run. ${this.#downWords()}`);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#transport?.close().catch(() => {}); // also while it is being opened
    await this.#opening?.catch(() => {});
    const client = this.#client;
    this.#client = undefined;
    await client?.close().catch(() => {});
  }

  #callOptions(signal: AbortSignal) {
    const timeout = this.#callMs();
    return {
      signal,
      timeout,
      onprogress: () => {},
      resetTimeoutOnProgress: true,
      maxTotalTimeout: this.#longestCallMs(),
    };
  }

  #longestCallMs(): number {
    return Math.max(this.#callMs(), LONGEST_CALL_MS);
  }

  #callMs(): number {
    return (this.config.timeout_seconds ?? CALL_SECONDS) * 1000;
  }

  async #failed(client: Client, tool: string, error: unknown): Promise<ToolOutput> {
    if (error instanceof ProtocolError)
      return refusal(`The server refused the call.\n${said(this.name, `${error.code}: ${error.message}`)}`);
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
      return refusal(
        `${tool} gave no answer within ${this.#callMs() / 1000} s and was cancelled. Whether it took effect is unknown: look before you repeat it.`,
      );
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
      return refusal(`The server's answer was not one.\n${said(this.name, error.message)}`);
    await this.#drop(client, messageOf(error));
    return refusal(
      `The MCP server "${this.name}" went away while ${tool} ran (${this.#why}). Outcome unknown: look at what it may have changed before you repeat it. It is begun again with the next call.`,
    );
  }

  #downWords(): string {
    const seconds = Math.ceil((this.#notBefore - this.#ports.now()) / 1000);
    const next = seconds > 0 ? ` It is tried again in ${seconds} s at the earliest; go on without it.` : "";
    return `The MCP server "${this.name}" is not there: ${this.#why ?? "it was ended, or config.json has changed"}.${next}`;
  }

  #opened(): Promise<Client> {
    if (this.#client) return Promise.resolve(this.#client);
    this.#opening ??= this.#begin().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #begin(): Promise<Client> {
    if (this.#isClosed || this.#ports.now() < this.#notBefore) throw new Error("not now");
    try {
      const client = await this.#connected();
      if (this.#isClosed) {
        await client.close();
        throw new Error("closed");
      }
      this.#client = client;
      this.#why = undefined;
      return client;
    } catch (error) {
      this.#fail(this.#whyOf(error));
      throw error;
    }
  }

  async #connected(): Promise<Client> {
    try {
      return await this.#connect(this.#isOld);
    } catch (error) {
      // Some old servers end at a question they do not know; they are asked the old way from then on.
      const endedAtProbe = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
      if (!endedAtProbe || this.#isOld || this.#isClosed || !("command" in this.config)) throw error;
      const client = await this.#connect(true);
      this.#isOld = true;
      return client;
    }
  }

  async #connect(isOld: boolean): Promise<Client> {
    const transport = newTransport(this.config, this.#ports.env, this.#longestCallMs());
    this.#transport = transport;
    const client = this.#newClient(isOld);
    try {
      const limits = { timeout: OPENING_MS };
      await client.connect(transport, limits);
      this.#listed = client.getServerCapabilities()?.tools ? await listTools(client, OPENING_MS) : [];
      client.onclose = () => void this.#drop(client, undefined);
      return client;
    } catch (error) {
      await client.close().catch(() => {});
      await transport.close().catch(() => {});
      throw error;
    }
  }

  #newClient(isOld: boolean): Client {
    const { elicit } = this.#ports;
    const client = new Client(
      { name: "agiraph", version: "1" },
      {
        capabilities: elicit ? { elicitation: { form: { applyDefaults: true } } } : {},
        versionNegotiation: { mode: isOld ? "legacy" : "auto", probe: { timeoutMs: PROBE_MS } },
        listMaxPages: MAX_PAGES,
        // Between turns: anyone who asks for the tools next has the new ones.
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#changed(client) } },
        // What it promises of its answers is between it and its authors: nothing of ours builds on it.
        jsonSchemaValidator: {
          getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
        },
      },
    );
    client.onerror = () => {}; // lines that are no message, and what a call reports anyway
    if (elicit) client.setRequestHandler("elicitation/create", ({ params }) => elicit(this.name, params));
    return client;
  }

  /** At once, and in a storm of such news as often as is bearable. */
  #changed(client: Client): void {
    this.#isStale = true;
    this.#refreshing ??= this.#refresh(client).finally(() => {
      this.#refreshing = undefined;
    });
  }

  async #refresh(client: Client): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      const wait = this.#refreshedAt + REFRESH_MS - performance.now();
      if (wait > 0) await setTimeout(wait, undefined, { ref: false });
      this.#isStale = false;
      if (this.#client !== client) return;
      this.#refreshedAt = performance.now();
      const tools = await listTools(client, OPENING_MS).catch(() => null);
      if (tools && this.#client === client) this.#listed = tools;
    }
  }

  /** It has gone, or is of no use any more. */
  async #drop(client: Client, why: string | undefined): Promise<void> {
    if (this.#client !== client) return;
    this.#client = undefined;
    if (!this.#isClosed) this.#fail(this.#whyOf(why));
    await client.close().catch(() => {});
  }

  #fail(why: string): void {
    this.#why = why;
    // What has worked is begun again at once.
    const pause =
      this.#failures === 0 && this.#listed.length > 0 ? 0 : FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10);
    this.#failures += 1;
    this.#notBefore = this.#ports.now() + Math.min(pause, LONGEST_PAUSE_MS);
  }

  /** A process that ended tells best itself. */
  #whyOf(error: unknown): string {
    const transport = this.#transport;
    if (!(transport instanceof StdioTransport) || transport.ended === null) return bounded(messageOf(error));
    const last = transport.stderr.split("\n").at(-1);
    return bounded(last ? `${transport.ended}; its last words: ${last}` : transport.ended);
  }
}

/** No more of each tool than is used: a list may be megabytes. */
/** 404 by the book, 400 in practice. */
function isForgotten(error: unknown): boolean {
  return error instanceof SdkHttpError && (error.status === 404 || error.status === 400);
}

/** With what is at the bottom of it: `fetch failed` alone helps nobody. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error ?? "the connection was closed");
  let root = error;
  while (root.cause instanceof Error) root = root.cause;
  const code = "code" in root ? String(root.code) : root.name;
  const bottom = root === error ? "" : ` (${root.message || code})`;
  return `${error.message}${bottom}`;
}

/** Somebody else's words on one line of ours. */
function bounded(text: string): string {
  const line = withoutControls(text).replace(/\s+/g, " ").trim();
  return line.length > MAX_WHY ? `${line.slice(0, MAX_WHY)}…` : line;
}
