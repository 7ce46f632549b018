import { z } from "zod";
import type { CallPart, Outcome, ResultEntry } from "../../protocol/index.ts";
import type { HumanPort } from "../../tools/human.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import { Toolbox, type Tools } from "../../tools/toolbox.ts";
import { withRepeatGuard } from "../loop/repeat-guard.ts";
import { notRun } from "../loop/tool-calls.ts";
import { allowedOnNode, nodeTools } from "../node-tools.ts";
import type { NodeWork } from "../node-work.ts";
import type { Colleagues } from "../workplace.ts";
import type { Unread } from "./session/session.ts";
import type { Transcript } from "./transcript.ts";

export interface ProgramToolPorts {
  human: HumanPort;
  /** It can do nothing before there is news; with `all`, a result waits for the other results. */
  waits(all: boolean): void;
}

/** The tools of MCP servers for this worker, asked for again whenever the program lists its tools. */
export type ListForeignTools = () => readonly Tool[];

/** Our tools as a program gets them: the same as a model has, but none keeps it waiting. */
export function programToolbox(
  work: NodeWork,
  { human, waits }: ProgramToolPorts,
  team: Colleagues,
  foreign: ListForeignTools,
): Tools {
  const { worker, workplace, mailbox } = work;
  const mail = { waiting: () => mailbox.waiting, arrived: async () => {} };
  const all = nodeTools(work, { mail, human, team }).map((tool) =>
    tool.spec.name === "check_messages" ? checkMessagesTool(waits) : tool,
  );
  return withRepeatGuard(
    new Toolbox(allowedOnNode(all, worker, workplace), () => allowedOnNode(foreign(), worker, workplace)),
  );
}

const toCheck = z.object({ wait: z.boolean().default(false), all: z.boolean().default(false) });

export function checkMessagesTool(waits: ProgramToolPorts["waits"]): Tool {
  return defineTool({
    name: "check_messages",
    description:
      "Messages are said to you as soon as they come. With wait, end your turn afterwards: you are spoken to when something comes; with all: when all work you handed out has ended or failed.",
    repeatable: true,
    parameters: toCheck,
    async run({ wait, all }) {
      if (!wait && !all) return "There is nothing new: whatever comes is said to you at once.";
      waits(all);
      return "Nothing yet. End your turn now; you will be spoken to when something comes.";
    },
  });
}

/** What the record of a program's calls needs to know. */
export interface CallRecording {
  transcript: Transcript;
  /** Of the work, not of the connection: a program that exits in the middle of its publish has published all the same. */
  signal: AbortSignal;
  isOver(): boolean;
  /** It was stopped for a publish. */
  isStoppedForPublish(): boolean;
  /** Whether there is something that the program could not be told while it works. */
  hasNews(): boolean;
  /** Takes that: it is told with a result. */
  news(): Promise<string>;
  /** What was said into its turn, and its model cannot have read when it decided on this call. */
  unread(tool: string): Promise<Unread | null>;
  /** A call is under way; call what is returned when it no longer is. */
  busy(): () => void;
  ends(outcome: Outcome): void;
}

/**
 * DOOR-TOOLS-1. A call is on disk before it begins, and its result before it is told.
 * DOOR-TOOLS-2. A call that ends the work is never answered: the program is stopped instead, so nothing more is spent.
 *     If the program was stopped for a publish and no call has ended the work, the last call to end makes this try a
 *     failure. Other calls that it made together with its publish do not disturb the publish.
 * DOOR-TOOLS-3. What the program could not be told while it worked is told with the result of its call. A call that ends
 *     the work is not made while there is something that the program has not read; it is made when it is called again.
 */
export function recordedTools(tools: Tools, keeper: CallRecording): Tools {
  let underWay = 0;
  const refused: string[] = [];
  const recorded = async (call: CallPart): Promise<ResultEntry> => {
    const done = keeper.busy();
    underWay += 1;
    try {
      const unread = ENDINGS.has(call.name) ? await keeper.unread(call.name) : null;
      const isPostponed = unread !== null || (ENDINGS.has(call.name) && keeper.hasNews());
      const result = isPostponed ? postponed(call) : await tools.run(call, keeper.signal);
      await keeper.transcript.result(result);
      if (result.ending) keeper.ends(result.ending);
      else if (!keeper.isStoppedForPublish()) return withNews(result, [...(unread?.words ?? []), await keeper.news()]);
      else if (!result.ok) refused.push(result.content);
    } finally {
      underWay -= 1;
      if (keeper.isStoppedForPublish() && underWay === 0 && !keeper.isOver())
        keeper.ends({ kind: "failed", error: refused.join("\n") || "It was ended to publish, and did not." });
      done();
    }
    return untilAborted(keeper.signal);
  };
  return {
    get specs() {
      return tools.specs;
    },
    async run(call) {
      if (keeper.isOver()) return notRun(call, "the work has ended");
      await keeper.transcript.calls(call);
      return recorded(call);
    },
    recover: (call, signal) => tools.recover(call, signal),
  };
}

const ENDINGS: ReadonlySet<string> = new Set(["publish", "finish"]);

function postponed({ id, name }: CallPart): ResultEntry {
  const content = `Not done: something was said to you while you worked. Act on it, then call ${name} again.`;
  return { role: "tool", call_id: id, tool: name, ok: false, content };
}

function withNews(result: ResultEntry, words: readonly string[]): ResultEntry {
  const news = words.filter((each) => each !== "").join("\n\n");
  if (news === "") return result;
  // It says that there is nothing.
  if (result.tool === "check_messages") return { ...result, content: news };
  return { ...result, content: `${result.content}\n\n${news}` };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
