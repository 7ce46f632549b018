import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import type { McpServerConfig } from "../protocol/config.ts";
import type { Tool } from "../tools/tool.ts";
import { withoutControls } from "../tools/web-foreign.ts";
import { argumentCheck } from "./argument-check.ts";
import { McpConnection, type McpPorts, type ServerState } from "./connection.ts";
import { hashedName, toolName } from "./tool-name.ts";

const PATIENCE_MS = 10_000;
const MAX_DESCRIPTION = 2_000;
const MAX_SCHEMA = 32_000;
/** Per server: with more, a model no longer finds the right one. */
const MAX_TOOLS = 128;

/** The tools that a worker has from its servers. */
export interface ForeignTools {
  /** As the servers have them now. */
  tools(): readonly Tool[];
  /** Those that were described anew since this was asked last: what was trusted may be something else now. */
  changed(): readonly { server: string; tool: string }[];
  /** Those that are not there, and why. */
  broken: readonly { server: string; why: string }[];
}

type Servers = Readonly<Record<string, McpServerConfig>>;

/**
 * The servers of `mcp_servers` in config.json, shared by all agents. Each is opened for the first worker that needs it,
 * and closed with the runtime.
 *
 * MCP-CLIENT-1. The config is read at every use. A server whose entry is unchanged is left alone. One whose entry has
 *     changed is closed and opened again, and its users have the new tools from their next turn on. One that was
 *     removed is closed, and its tools are gone.
 * MCP-CLIENT-2. A tool whose server has changed its description says so in the description, and is reported by
 *     `changed`.
 */
export class McpServers {
  readonly #config: () => Servers;
  readonly #ports: McpPorts;
  readonly #patienceMs: number;
  #read: Servers = {};
  #isClosed = false;
  #connections: ReadonlyMap<string, McpConnection> = new Map();
  readonly #endings = new Set<Promise<void>>();
  /** A tool is made once, and again when its server describes it anew. */
  readonly #made = new WeakMap<ListedTool, Tool>();
  /** What each tool looked like when it was first seen, and lately. */
  readonly #seen = new Map<string, { first: string; last: string }>();
  readonly #changes: { server: string; tool: string }[] = [];

  constructor(config: Servers | (() => Servers), ports: McpPorts) {
    this.#config = typeof config === "function" ? config : () => config;
    this.#ports = ports;
    this.#patienceMs = ports.patienceMs ?? PATIENCE_MS;
  }

  /** Opens those that are given to somebody. Never rejects. */
  async open(isGiven: (server: McpServerConfig) => boolean): Promise<ForeignTools> {
    const given = this.#given(isGiven);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#patienceMs);
    await Promise.race([Promise.all(given.map((connection) => connection.open())), late]);
    clearTimeout(timer);
    const broken = given.flatMap(({ name, state }) => {
      if (state.is === "up") return [];
      const why = state.is === "down" ? state.why : `it did not answer within ${this.#patienceMs / 1000} s`;
      return [{ server: name, why }];
    });
    let told = this.#changes.length;
    const changed = () => {
      const news = this.#changes.slice(told);
      told += news.length;
      return news;
    };
    return { tools: () => this.#toolsOf(this.#given(isGiven)), changed, broken };
  }

  /** Each by name, opened and looked at. */
  async states(): Promise<{ name: string; state: ServerState }[]> {
    await this.open(() => true);
    return [...this.#now().values()].map(({ name, state }) => ({ name, state }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
    await Promise.all(this.#endings);
  }

  #given(isGiven: (server: McpServerConfig) => boolean): McpConnection[] {
    return [...this.#now().values()].filter(({ config }) => isGiven(config));
  }

  /** As the config has them now (MCP-CLIENT-1). */
  #now(): ReadonlyMap<string, McpConnection> {
    const config = this.#config();
    if (config === this.#read || this.#isClosed) return this.#connections;
    this.#read = config;
    const before = this.#connections;
    this.#connections = new Map(
      Object.entries(config).map(([name, server]) => {
        const known = before.get(name);
        if (known && isDeepStrictEqual(known.config, server)) return [name, known];
        const connection = new McpConnection(name, server, this.#ports);
        if (known?.isWanted) void connection.open();
        return [name, connection];
      }),
    );
    for (const connection of before.values())
      if (this.#connections.get(connection.name) !== connection) this.#end(connection);
    return this.#connections;
  }

  #end(connection: McpConnection): void {
    const ending = connection.close().finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  #toolsOf(connections: readonly McpConnection[]): Tool[] {
    const byName = new Map<string, Tool>();
    for (const connection of connections) {
      const wanted = connection.config.tools;
      const listed = connection.listed.filter(({ name }) => !wanted || wanted.includes(name));
      const names = new Set<string>();
      for (const tool of listed.slice(0, MAX_TOOLS)) {
        if (names.has(tool.name)) continue; // the same name twice is the same tool
        names.add(tool.name);
        const made = this.#toolOf(connection, tool);
        const isTaken = byName.has(made.spec.name);
        const spec = isTaken ? { ...made.spec, name: hashedName(connection.name, tool.name) } : made.spec;
        byName.set(spec.name, { ...made, spec });
      }
    }
    return [...byName.values()];
  }

  #toolOf(connection: McpConnection, listed: ListedTool): Tool {
    const known = this.#made.get(listed);
    if (known) return known;
    const tool = foreignTool(connection, listed);
    const made = this.#isChanged(connection.name, listed.name, tool) ? withNote(tool, CHANGED) : tool;
    this.#made.set(listed, made);
    return made;
  }

  /** MCP-CLIENT-2. */
  #isChanged(server: string, tool: string, { spec }: Tool): boolean {
    const key = JSON.stringify([server, tool]);
    const now = createHash("sha256")
      .update(JSON.stringify([spec.description, spec.parameters]))
      .digest("hex");
    const seen = this.#seen.get(key) ?? { first: now, last: now };
    if (seen.last !== now && this.#changes.length < MAX_CHANGES) this.#changes.push({ server, tool });
    if (this.#seen.size < MAX_SEEN) this.#seen.set(key, { ...seen, last: now });
    return seen.first !== now;
  }
}

const MAX_CHANGES = 1_000;
const MAX_SEEN = 100_000;
const CHANGED = "Its server has changed this tool since it was first listed: it may do something else now.";

function withNote(tool: Tool, note: string): Tool {
  return { ...tool, spec: { ...tool.spec, description: `${tool.spec.description}\n${note}` } };
}

function foreignTool(connection: McpConnection, listed: ListedTool): Tool {
  // A server knows what of it only looks; nobody else does.
  const readOnly = listed.annotations?.readOnlyHint === true;
  const { schema, note } = boundedSchema(listed.inputSchema);
  const description = cut(withoutControls(listed.description ?? listed.title ?? ""));
  return {
    spec: {
      name: toolName(connection.name, listed.name),
      description: [`Of the MCP server "${connection.name}", in the words of its authors: ${description}`, note]
        .filter(Boolean)
        .join("\n"),
      parameters: schema,
      ...(readOnly && { readOnly }),
    },
    repeatable: readOnly,
    parse: argumentCheck(schema),
    run: (args, signal) => connection.call(listed.name, args as Record<string, unknown>, signal),
  };
}

function boundedSchema(schema: ListedTool["inputSchema"]): { schema: Record<string, unknown>; note: string } {
  if (lengthOf(schema) <= MAX_SCHEMA) return { schema, note: "" };
  return {
    schema: { type: "object" },
    note: "Its parameters are described at too great a length to be shown; the server refuses what is wrong.",
  };
}

function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY; // nested too deep
  }
}

function cut(text: string): string {
  return text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION)}… (cut)` : text;
}
