import { createScrubber } from "../../boundary/scrubber.ts";
import { secretsIn } from "../../boundary/secrets.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { asCalled } from "../invocation.ts";
import type { Terminal } from "../terminal.ts";
import { stackOf } from "./stack-text.ts";
import { plainLines } from "./width.ts";

/** Reports an error: in words for people, by its code for scripts. Returns the exit code. */
export function reportFailure(error: unknown, terminal: Terminal, json: boolean): ExitCode {
  const { code, exit, ...failure } = failureOf(error);
  const scrubber = createScrubber(secretsIn({ env: terminal.env }));
  const message = scrubber.text(asCalled(failure.message, terminal.env));
  terminal.say(`${terminal.errPaint.red("✗")} ${plainLines(message).join("\n")}`);
  if (terminal.env.AGIRAPH_DEBUG === "1" && error instanceof Error) terminal.say(scrubber.text(stackOf(error)));
  if (json) void terminal.printJson({ error: { code, message } });
  return exit;
}

export interface Failure {
  code: string;
  message: string;
  exit: ExitCode;
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: "unknown", message: String(error), exit: EXIT.failed };
  // By name: importing every room only to recognise its errors would cost more than most commands.
  const kind = KINDS[error.name] ?? humanRefusal(error);
  if (kind) return { ...kind, message: error.message };
  const system = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if (system)
    return {
      code: system.toLowerCase(),
      message: `${sentence(error.message)} Set AGIRAPH_DEBUG=1 to see where.`,
      exit: EXIT.failed,
    };
  return {
    code: "unexpected",
    message: `${sentence(error.message)} This was not expected; set AGIRAPH_DEBUG=1 to see where it came from.`,
    exit: EXIT.failed,
  };
}

const KINDS: Record<string, Omit<Failure, "message">> = {
  UsageError: { code: "usage", exit: EXIT.usage },
  HomeNotMadeError: { code: "usage", exit: EXIT.usage },
  Refusal: { code: "refused", exit: EXIT.failed },
  SettingsError: { code: "settings", exit: EXIT.failed },
  NoSuchAgent: { code: "no_such_agent", exit: EXIT.failed },
  NotFoundError: { code: "not_found", exit: EXIT.failed },
  UnreadableHome: { code: "unreadable_home", exit: EXIT.failed },
  UntrustedHome: { code: "untrusted_home", exit: EXIT.failed },
  HomeLockedError: { code: "home_locked", exit: EXIT.failed },
  NewerVersionError: { code: "newer_version", exit: EXIT.failed },
  ReadOnlyError: { code: "read_only", exit: EXIT.failed },
  DiskFullError: { code: "disk_full", exit: EXIT.failed },
  TooManyFilesError: { code: "too_many_files", exit: EXIT.failed },
  ModelFailure: { code: "model", exit: EXIT.failed },
  TooLittleMoney: { code: "too_little_money", exit: EXIT.failed },
  UnpricedModel: { code: "unpriced_model", exit: EXIT.failed },
  UnreachableServer: { code: "server_unreachable", exit: EXIT.failed },
  FileNotFound: { code: "file_not_found", exit: EXIT.failed },
  ScopeRefusal: { code: "outside_scope", exit: EXIT.failed },
  MessageTooLong: { code: "too_large", exit: EXIT.failed },
  NoTmux: { code: "no_tmux", exit: EXIT.failed },
};

/** Its own code says more than its kind. */
function humanRefusal(error: Error): Omit<Failure, "message"> | undefined {
  if (!["HumanRefusal", "WrongField", "ApiError"].includes(error.name) || !("code" in error)) return undefined;
  return { code: String(error.code), exit: EXIT.failed };
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
