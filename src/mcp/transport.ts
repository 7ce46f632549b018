import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { McpServerConfig } from "../protocol/config.ts";
import { ANSWER_TIMES, boundedFetchWith } from "./bounded-fetch.ts";
import { calmReconnection } from "./reconnection.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type McpTransport = StdioTransport | StreamableHTTPClientTransport;

/** Throws if an environment variable that it needs is not set. `longestCallMs` bounds an answer over HTTP. */
export function newTransport(
  config: McpServerConfig,
  env: Readonly<Record<string, string | undefined>>,
  longestCallMs: number,
): McpTransport {
  if ("command" in config) {
    const { command, cwd, set = {} } = config;
    const given = [...ALWAYS_GIVEN, ...(config.env ?? [])].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    });
    return new StdioTransport({ command, cwd, env: { ...Object.fromEntries(given), ...set } });
  }
  const headers = Object.entries(config.headers_env ?? {}).map(([header, name]) => {
    const value = env[name];
    if (!value) throw new Error(`${name} is not set, which it needs for the header ${header}`);
    return [header, value];
  });
  const requestInit = { headers: Object.fromEntries(headers) };
  const fetch = boundedFetchWith({ ...ANSWER_TIMES, callMs: longestCallMs });
  const reconnectionScheduler = calmReconnection();
  return new StreamableHTTPClientTransport(new URL(config.url), { fetch, requestInit, reconnectionScheduler });
}

/** What a program needs to run at all, where it is not said otherwise. */
const ALWAYS_GIVEN = ["PATH", "HOME", "LANG", "TERM"];
