import type { ProgramProfile } from "../../../protocol/index.ts";
import { OUR_SERVER } from "../session/session.ts";
import type { WireCall } from "./acp-wire.ts";

/** Where an ACP agent departs from the protocol, or goes beyond it. Tried with the versions in `docs/decisions/acp.md`. */
export interface AcpQuirks {
  /** Is this a call of one of our tools? Our MCP server records those, so that nothing is recorded twice. */
  isOurs(call: WireCall): boolean;
  /** `isOurs` looks at fields that the agent writes, not at words its model may choose: such a call needs no permission. */
  attests: boolean;
  /** The tool's name stands in the title of the call's announcement, and there only: later titles are made of arguments. */
  titleIsTool?: true;
  /** The tool's name, where the protocol's own field does not hold it. */
  toolOf(call: WireCall): string | undefined;
  /** Where in its home it reads standing instructions, when it takes none by the protocol. */
  instructions?: string;
  /** It says only here that the model could not be asked; its turn ends as if all were well. */
  hasFailed?(meta: Record<string, unknown>): boolean;
  /** It ends by itself when its input ends. */
  endsWithInput: boolean;
  /** When a session is resumed, it reports the past only after it has answered. */
  replaysLate: boolean;
  /** It overwrites a session that is resumed in the clock minute in which it was made. */
  losesYoungSessions: boolean;
  /** What its model must know where commands are asked about: how to ask. */
  askingHint?: string;
  /** What it is called with, where that stands elsewhere than in `rawInput`. */
  inputOf?(call: WireCall): unknown;
  /** A call that is pending may have some of its arguments only. */
  fillsLater?: true;
  /** What it says of a turn is only what the last model call of it took. */
  countsLastCall?: true;
  /** Names by which it lets itself choose among models, with the dearest of them. */
  chooses?: Readonly<Record<string, string>>;
  /** How it signs in by itself when it says that it must, by the methods it offers. */
  signIn?: string;
}

/** An agent we know nothing of. */
const plain: AcpQuirks = {
  // A title may be the model's; one over a command or an edit would keep that out of the record.
  isOurs: (call) => OUR_NAMES.test(call.name ?? (call.kind && call.kind !== "other" ? "" : (call.title ?? ""))),
  attests: false,
  toolOf: () => undefined,
  endsWithInput: true,
  replaysLate: false,
  losesYoungSessions: false,
};

const OUR_NAMES = new RegExp(`^(mcp[._]+)?${OUR_SERVER}[._]+[a-z_]+$`);

const claude: AcpQuirks = {
  ...plain,
  attests: true,
  isOurs: (call) => claudeTool(call)?.startsWith(`mcp__${OUR_SERVER}__`) ?? false,
  toolOf: claudeTool,
};

const codex: AcpQuirks = {
  ...plain,
  attests: true,
  isOurs: (call) => mcpCall(call)?.server === OUR_SERVER,
  toolOf(call) {
    const mcp = mcpCall(call);
    return mcp
      ? `mcp__${mcp.server}__${mcp.tool}`
      : call.kind === "edit"
        ? "edit"
        : call.kind === "execute"
          ? "shell"
          : undefined;
  },
  hasFailed: (meta) => within(meta, "codex", "threadStatus", "type") === "systemError",
  endsWithInput: false,
  askingHint:
    'Your human decides on what you run: call exec_command with sandbox_permissions "require_escalated" and a justification, each time. Without that no command runs here.',
  signIn: "api-key",
};

const gemini: AcpQuirks = {
  ...plain,
  attests: true,
  isOurs: (call) => geminiTool(call).startsWith(`mcp_${OUR_SERVER}_`),
  toolOf: geminiTool,
  inputOf: geminiInput,
  instructions: ".gemini/GEMINI.md",
  endsWithInput: false,
  replaysLate: true,
  losesYoungSessions: true,
  signIn: "gemini-api-key",
  chooses: {
    auto: "gemini-3.1-pro-preview",
    pro: "gemini-3.1-pro-preview",
    "auto-gemini-3": "gemini-3.1-pro-preview",
    "auto-gemini-2.5": "gemini-2.5-pro",
    flash: "gemini-3.8-flash",
    "flash-lite": "gemini-3.5-flash-lite",
  },
};

const opencode: AcpQuirks = {
  ...plain,
  attests: true,
  // The first title of a call is its tool; later ones are made of its arguments.
  isOurs: (call) => call.kind === "other" && (call.title?.startsWith(`${OUR_SERVER}_`) ?? false),
  toolOf: (call) => call.title ?? undefined,
  titleIsTool: true,
  fillsLater: true,
  countsLastCall: true,
  instructions: ".config/opencode/AGENTS.md",
};

const table: Record<NonNullable<ProgramProfile["quirks"]>, AcpQuirks> = { claude, codex, gemini, opencode };

export function quirksOf({ quirks }: ProgramProfile): AcpQuirks {
  return quirks ? table[quirks] : plain;
}

function claudeTool(call: WireCall): string | undefined {
  const name = within(call._meta, "claudeCode", "toolName") ?? call.name;
  return typeof name === "string" ? name : undefined;
}

/** `{ server, tool, arguments }`, marked by the agent as a call to an MCP server. */
function mcpCall(call: WireCall): { server: string; tool: string } | undefined {
  if (within(call._meta, "is_mcp_tool_call") !== true) return undefined;
  const [server, tool] = [within(call.rawInput, "server"), within(call.rawInput, "tool")];
  return typeof server === "string" && typeof tool === "string" ? { server, tool } : undefined;
}

/** The id of a call is its tool and the model's own id: `mcp_everything_echo__fc_31f5853b`. */
function geminiTool(call: WireCall): string {
  return call.toolCallId.split("__", 1)[0] ?? call.toolCallId;
}

/** The title of a command is the command; what is shown before it has run is where it runs, and what it is for. */
function geminiInput(call: WireCall): unknown {
  const isOver = call.status === "completed" || call.status === "failed";
  if (isOver || !call.title || geminiTool(call) !== "run_shell_command") return undefined;
  const shown = (call.content ?? []).flatMap((part) => part.content?.text ?? []).join("\n");
  return { command: call.title, ...(shown ? { details: shown } : {}) };
}

function within(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
