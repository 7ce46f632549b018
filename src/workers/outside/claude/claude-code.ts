import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../../../protocol/clock.ts";
import type { Launched, RunningProgram } from "../../../sandbox/program.ts";
import { putFile } from "../../../store/disk/foreign-folder.ts";
import { OWN_SERVERS_FILE } from "../programs.ts";
import { EventQueue } from "../session/event-queue.ts";
import { linesOf } from "../session/output-lines.ts";
import {
  type Adapter,
  type Decision,
  OUR_SERVER,
  type OutsideSession,
  type SessionSetup,
  type ToolServer,
  type Unread,
} from "../session/session.ts";
import { ClaudeTranslation } from "./claude-translation.ts";
import { type ClaudeLine, claudeLine } from "./claude-wire.ts";
import { costBefore } from "./session-cost.ts";

/**
 * Claude Code by its own stream-json, both ways: what is said while it works is in its context by its next model call,
 * and what it asks permission for waits for the answer.
 *
 * It shows no first-run dialogs when it runs headless, so there are none to skip.
 */
export const claudeCodeAdapter =
  (clock: Clock): Adapter =>
  async (setup) => {
    const session_id = setup.resume ?? randomUUID();
    if (setup.resume === null) await setup.named?.(session_id);
    await putFile(setup.home, MCP_FILE, MCP_CONFIG);
    await putFile(setup.home, SYSTEM_FILE, setup.system);
    const cost = setup.resume === null ? 0 : await costBefore(setup.home, session_id);
    const running = await setup.start((server) => launchOf(setup, server, session_id));
    return new ClaudeSession(setup.words, running, new ClaudeTranslation(cost), clock);
  };

/** It takes what is said to it within milliseconds, unless the machine is very busy. */
const TAKE_MS = 2000;
const MCP_FILE = ".agiraph/mcp.json";
const SYSTEM_FILE = ".agiraph/system.md";

/** By variables: a token in the arguments would be seen by everybody on the machine. */
const MCP_CONFIG = JSON.stringify({
  mcpServers: {
    [OUR_SERVER]: {
      type: "http",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Claude Code puts the variables in.
      url: "${AGIRAPH_DOOR_URL}",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Claude Code puts the variables in.
      headers: { Authorization: "Bearer ${AGIRAPH_DOOR_TOKEN}" },
    },
  },
});

/** What only makes sense to somebody before a terminal, goes on behind our back, or is what our own tools are for. */
const NOT_HERE = [
  ...["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree", "SendMessage"],
  ...["CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Monitor", "ListAgents", "TaskStop", "Workflow"],
];

function launchOf({ profile, home, model, resume }: SessionSetup, server: ToolServer, session_id: string): Launched {
  const [command = "claude", ...args] = profile.command;
  const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
  return {
    argv: [
      command,
      ...args,
      ...["-p", ...streams, "--include-partial-messages", "--replay-user-messages"],
      ...["--permission-prompt-tool", "stdio"],
      // The hooks and permissions that a project brings along do not count, not even in the sandbox.
      ...["--setting-sources", "user"],
      ...["--mcp-config", join(home, MCP_FILE)],
      ...(profile.own_settings ? [join(home, OWN_SERVERS_FILE)] : []),
      "--strict-mcp-config",
      ...["--allowedTools", `mcp__${OUR_SERVER}`, "--disallowedTools", NOT_HERE.join(",")],
      ...["--append-system-prompt-file", join(home, SYSTEM_FILE)],
      ...(model === null ? [] : ["--model", model]),
      ...(resume === null ? ["--session-id", session_id] : ["--resume", session_id]),
    ],
    env: {
      AGIRAPH_DOOR_URL: server.url,
      AGIRAPH_DOOR_TOKEN: server.token,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      DISABLE_AUTOUPDATER: "1",
      // Else it would have to search for our tools before it can use one.
      ENABLE_TOOL_SEARCH: "false",
      ...profile.set,
    },
  };
}

class ClaudeSession implements OutsideSession {
  readonly events = new EventQueue();
  readonly #running: RunningProgram;
  readonly #translation: ClaudeTranslation;
  readonly #clock: Clock;
  readonly #requests = new Map<string, unknown>();
  #closing: Promise<void> | undefined;

  constructor(words: string, running: RunningProgram, translation: ClaudeTranslation, clock: Clock) {
    this.#running = running;
    this.#translation = translation;
    this.#clock = clock;
    // `ended` says that the program has gone: a failed write adds nothing.
    running.stdin.on("error", () => {});
    this.events.own(this.#live());
    this.#hearErrors().catch(() => {});
    void this.say(words);
  }

  async say(text: string): Promise<void> {
    const uuid = randomUUID();
    this.#translation.said(uuid);
    this.#write({ type: "user", uuid, message: { role: "user", content: text }, parent_tool_use_id: null });
  }

  async takeUnread(): Promise<Unread | null> {
    if (!this.#translation.takeUnread()) return null;
    // What still lies in its input would miss its next model call, too.
    const over = new AbortController();
    const late = this.#clock.sleep(TAKE_MS, over.signal).catch(() => {});
    await Promise.race([this.#translation.allTaken, late]);
    over.abort();
    return { words: [] };
  }

  canBeResumed(): boolean {
    return true;
  }

  async decide(id: string, { allow, why }: Decision): Promise<void> {
    if (!this.#requests.has(id)) return;
    const updatedInput = this.#requests.get(id);
    this.#requests.delete(id);
    const response = allow
      ? { behavior: "allow", updatedInput }
      : { behavior: "deny", message: why ?? "This is not allowed." };
    this.#write({ type: "control_response", response: { subtype: "success", request_id: id, response } });
  }

  async interrupt(): Promise<void> {
    this.#write({ type: "control_request", request_id: randomUUID(), request: { subtype: "interrupt" } });
  }

  async endTurn(): Promise<void> {
    // What is cut off in the middle of a reply may not be counted.
    await this.#translation.replyIsOver;
    await this.interrupt();
    await this.#translation.turnIsOver;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Whatever still comes is read, so that its output ends, and dropped.
    this.events.stopWaiting();
    this.#running.stdin.end();
    await this.#running.stop(1500);
  }

  #write(message: unknown): void {
    if (this.#running.stdin.writable) this.#running.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #live(): Promise<void> {
    for await (const text of linesOf(this.#running.stdout)) {
      await this.events.room();
      this.#take(text);
    }
    const { code, signal, exceeded } = await this.#running.ended;
    this.events.push(...this.#translation.gone());
    this.events.end({ kind: "exited", code, signal, exceeded });
  }

  #take(text: string | null): void {
    if (text?.trim() === "") return;
    const line = text === null ? "It wrote a line that is too long to be read." : claudeLine(text);
    if (typeof line === "string") this.#note(line);
    else if (line && !this.#isAskedTwice(line)) this.events.push(...this.#translation.translate(line));
  }

  /** Keeps what it asks permission for. The answer to the first request must not become one to a second of the same id. */
  #isAskedTwice(line: ClaudeLine): boolean {
    if (line.is === "control_cancel_request") this.#requests.delete(line.line.request_id);
    if (line.is !== "control_request/can_use_tool") return false;
    const { request_id, request } = line.line;
    const isAgain = this.#requests.has(request_id);
    if (isAgain) this.#note("It asked for permission twice under one id. The second request was ignored.");
    else this.#requests.set(request_id, request.input);
    return isAgain;
  }

  #note(text: string): void {
    this.events.push({ kind: "noted", text });
  }

  async #hearErrors(): Promise<void> {
    for await (const text of linesOf(this.#running.stderr)) {
      await this.events.room();
      if (text?.trim()) this.#note(text.slice(0, 2000));
    }
  }
}
