import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Situation } from "../projections/index.ts";
import type { Config } from "../protocol/config.ts";
import type { AgentId } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { buildServer } from "../server/server.ts";
import type { ScriptedModel } from "./script.ts";
import { scriptedCatalog, until } from "./start-team.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

export interface ServerPlan {
  /** Without one, the models are the real ones: of those only the demo can be used. */
  coordinator?: ScriptedModel;
  workers?: Record<string, ScriptedModel>;
  config?: Config;
  env?: Environment;
  webDir?: string;
  /** A home that is kept; otherwise one that goes with the server. */
  home?: string;
  /** Where it listens; 127.0.0.1 unless said otherwise. */
  host?: string;
}

export interface TestResponse {
  status: number;
  body: unknown;
}

export const TOKEN = "a-token-for-tests-that-nobody-else-has-0001";

/** A server on a real port, over a home of its own, with scripted minds. */
export async function startServer(plan: ServerPlan): Promise<TestServer> {
  const { coordinator, workers = {} } = plan;
  const temporary = plan.home === undefined ? await temporaryHome() : undefined;
  const settings = { home: plan.home ?? temporary?.path ?? "", env: plan.env ?? {}, config: plan.config ?? {} };
  const runtime = await openRuntime(settings, {
    machine: async () => ({ loop: "", program: "" }),
    ...(coordinator && { catalog: scriptedCatalog({ coordinator, workers }) }),
  });
  const app = await buildServer({
    runtime,
    settings,
    token: TOKEN,
    ...(plan.webDir !== undefined && { webDir: plan.webDir }),
  });
  await app.listen({ port: 0, host: plan.host ?? "127.0.0.1" });
  return new TestServer(app, runtime, temporary);
}

export class TestServer implements AsyncDisposable {
  readonly app: FastifyInstance;
  readonly runtime: Runtime;
  readonly #temporary: TemporaryHome | undefined;
  /** Sees every response in JSON, with the route it came from. */
  onResponse: (method: string, path: string, received: TestResponse) => void = () => {};

  constructor(app: FastifyInstance, runtime: Runtime, temporary: TemporaryHome | undefined) {
    this.app = app;
    this.runtime = runtime;
    this.#temporary = temporary;
  }

  get port(): number {
    return (this.app.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get(path: string): Promise<TestResponse> {
    return this.ask("GET", path);
  }

  post(path: string, body?: unknown): Promise<TestResponse> {
    return this.ask("POST", path, body);
  }

  delete(path: string): Promise<TestResponse> {
    return this.ask("DELETE", path);
  }

  async ask(method: string, path: string, body?: unknown): Promise<TestResponse> {
    const response = await this.fetch(path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    const received = { status: response.status, body: isJson ? (JSON.parse(text) as unknown) : text };
    if (isJson) this.onResponse(method, path, received);
    return received;
  }

  /** With the token, unless the headers say otherwise. */
  fetch(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      redirect: "manual",
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, ...init.headers },
    });
  }

  async until(id: string, isSo: (now: Situation) => boolean): Promise<Agent> {
    const agent = await this.runtime.agent(id as AgentId);
    await until(agent, isSo);
    return agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
    await this.runtime.close();
    await this.#temporary?.remove();
  }
}
