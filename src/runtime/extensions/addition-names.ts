import { PROVIDER_NAMES } from "../../models/catalog/model-name.ts";
import { channelNameSchema } from "../../protocol/channel.ts";
import type { Config } from "../../protocol/config.ts";
import { TOOL_NAMES } from "../../tools/tool-names.ts";
import { shapeProblem } from "./addition-shapes.ts";
import type { Additions } from "./additions.ts";

type Kind = "tool" | "provider" | "channel";

/** Further tools of mesh agents (`runtime/meshes/tx-tools.ts`). */
const MESH_TOOLS = ["tx_done", "tx_send", "tx_ask"];

/** By these names facts say that the person spoke at the terminal or at the page. */
const OWN_CHANNELS = ["terminal", "web"];

/**
 * Keeps track of which names are taken, and by what.
 *
 * ADDITION-1. Names are unique: an addition never takes the name of a built-in, of an MCP server's tool, of a channel
 *     in config.json, or of an earlier addition.
 * ADDITION-2. All or nothing: if one of several cannot be added, none of them is, and each problem says what to do.
 * ADDITION-3. Code without types is checked too: nothing that is not a tool, provider or channel is used.
 */
export class AdditionNames {
  readonly #owners: Readonly<Record<Kind, Map<string, string>>>;

  constructor({ channels = {} }: Pick<Config, "channels">) {
    const builtIn = (names: readonly string[]) => new Map(names.map((name) => [name, BUILT_IN]));
    this.#owners = {
      tool: builtIn([...TOOL_NAMES, ...MESH_TOOLS]),
      provider: builtIn(PROVIDER_NAMES),
      channel: new Map([
        ...Object.keys(channels).map((name) => [name, "config.json"] as const),
        ...builtIn(OWN_CHANNELS),
      ]),
    };
  }

  /** Takes the names, or returns why not. `owner` is told to anyone who comes later with the same name. */
  take(additions: Additions, owner: string): string[] {
    const problem = shapeProblem(additions);
    if (problem !== undefined) return [problem];
    const { tools = [], providers = [], channels = [] } = additions;
    const named: [Kind, string][] = [
      ...tools.map(({ spec }): [Kind, string] => ["tool", spec.name]),
      ...providers.map(({ name }): [Kind, string] => ["provider", name]),
      ...channels.map(({ name }): [Kind, string] => ["channel", name]),
    ];
    const twice = named.filter(([kind, name], at) => named.findIndex(([k, n]) => k === kind && n === name) < at);
    const problems = [
      ...named.flatMap(([kind, name]) => nameProblem(kind, name) ?? this.#clash(kind, name) ?? []),
      ...twice.map(([kind, name]) => `The ${kind} "${name}" is defined twice. Rename one of them.`),
    ];
    if (problems.length === 0) for (const [kind, name] of named) this.#owners[kind].set(name, owner);
    return [...new Set(problems)];
  }

  #clash(kind: Kind, name: string): string | undefined {
    const owner = this.#owners[kind].get(name);
    if (owner === undefined) return undefined;
    if (owner === BUILT_IN) return `The ${kind} "${name}" is built in. Give yours another name.`;
    return `The ${kind} "${name}" already exists (${owner}). Rename one of them.`;
  }
}

const BUILT_IN = "built in";

/** Providers of models take no other names for tools. */
const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/;

function nameProblem(kind: Kind, name: string): string | undefined {
  if (kind === "tool" && name.startsWith("mcp__"))
    return `The tool "${name}" begins with mcp__, which is reserved for tools of MCP servers. Choose another name.`;
  if (kind === "tool" && !TOOL_NAME.test(name))
    return `"${name}" cannot be a tool's name. Use letters, digits, _ and -, beginning with a letter, at most 64.`;
  const isUsable = kind === "channel" ? channelNameSchema.safeParse(name).success : PROVIDER_NAME.test(name);
  if (kind === "tool" || isUsable) return undefined;
  return `"${name}" cannot be a ${kind}'s name. Use lower-case letters, digits, - and _, at most 40.`;
}
