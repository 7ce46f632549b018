import { withoutRedirects } from "../boundary/without-redirects.ts";
import { VIA_HEADER, type Via } from "../protocol/actor.ts";
import type { ErrorBody } from "../protocol/api/error-body.ts";

/** The server refused the request. `code` and `details` are for programs, the message is for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly details: NonNullable<ErrorBody["error"]["details"]>;

  constructor(status: number, code: string, message: string, details: ApiError["details"] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** What is wrong with which field of what was sent. */
  get fields(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.details.map(({ field, problem }) => [field, problem]));
  }
}

/** Nobody answered, or the connection broke: it is not known whether the request was carried out. */
export class UnreachableServer extends Error {
  override readonly name = "UnreachableServer";
}

export interface TransportOptions {
  /** Of the server; empty in a page of its own. */
  url: string;
  /** A page that has logged in needs none. */
  token?: string;
  /** What speaks: it is recorded with every command. */
  via?: Via;
  fetch?: typeof globalThis.fetch;
  /** Opens a WebSocket, where the usual one will not do. */
  socket?(url: string, protocols: string[]): WebSocket;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Sends one request and reads its response, for every client of the server: the terminal, the page, programs. */
export class Transport {
  readonly url: string;
  readonly token: string | undefined;
  readonly #via: Via | undefined;
  readonly #fetch: typeof globalThis.fetch;
  readonly #socket: NonNullable<TransportOptions["socket"]>;

  constructor({
    url,
    token,
    via,
    fetch = (...request) => globalThis.fetch(...request),
    socket = (...where) => new WebSocket(...where),
  }: TransportOptions) {
    this.url = url;
    this.token = token;
    this.#via = via;
    this.#fetch = withoutRedirects(fetch, "the server's address");
    this.#socket = socket;
  }

  /** A page that has logged in is known by its cookie. */
  socket(path: string): WebSocket {
    const key = this.token === undefined ? [] : [`bearer.${this.token}`];
    return this.#socket(`${this.url.replace(/^http/, "ws")}${path}`, ["agiraph", ...key]);
  }

  /** What it answers, which nobody has checked. */
  async ask(
    method: string,
    path: string,
    { query = {}, body }: { query?: Query; body?: unknown } = {},
  ): Promise<unknown> {
    const given = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
    const search = given.size > 0 ? `?${given}` : "";
    const response = await this.fetch(`${path}${search}`, {
      method,
      headers: {
        ...(this.#via !== undefined && { [VIA_HEADER]: this.#via }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw await refusalIn(response);
    if (response.status === 204) return undefined;
    try {
      return await response.json();
    } catch {
      throw new ApiError(response.status, "unexpected", `${NOT_AGIRAPH} It sent no JSON for ${path}.`);
    }
  }

  /** The bare answer, for what is no JSON. */
  async fetch(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const headers = {
      ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
      ...init.headers,
    };
    return this.#fetch(`${this.url}${path}`, { ...init, headers }).catch((error: unknown) => {
      const where = this.url && ` at ${this.url}`;
      throw new UnreachableServer(`The server${where} cannot be reached: ${whyNot(error)}.`, { cause: error });
    });
  }
}

export const NOT_AGIRAPH = "Something else than Agiraph answers here, or something between it and us.";

/** A refusal in the server's own words. */
export async function refusalIn(response: Response): Promise<ApiError> {
  const said: unknown = await response.json().catch(() => null);
  const error = isRecord(said) && isRecord(said.error) ? (said.error as Partial<ErrorBody["error"]>) : {};
  const code = typeof error.code === "string" ? error.code : "unexpected";
  const message = typeof error.message === "string" ? error.message : `The server answered ${response.status}.`;
  return new ApiError(
    response.status,
    code,
    message,
    Array.isArray(error.details) ? error.details.filter(isDetail) : [],
  );
}

/** By hand: the page has no schemas. */
function isDetail(detail: unknown): detail is ApiError["details"][number] {
  return isRecord(detail) && typeof detail.field === "string" && typeof detail.problem === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The system's own words, which `fetch` keeps below its own. */
function whyNot(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message.replace(/\.$/, "") : String(cause);
}
