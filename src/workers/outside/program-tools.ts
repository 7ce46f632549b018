import { z } from "zod";
import type { Outcome, ResultEntry } from "../../protocol/index.ts";
import type { HumanPort } from "../../tools/human.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import { Toolbox, type Tools } from "../../tools/toolbox.ts";
import { withRepeatGuard } from "../loop/repeat-guard.ts";
import { notRun } from "../loop/tool-calls.ts";
import { allowedOnNode, nodeTools } from "../node-tools.ts";
import type { NodeWork } from "../resume.ts";
import type { Colleagues } from "../workplace.ts";
import type { Transcript } from "./transcript.ts";

export interface ProgramToolPorts {
  human: HumanPort;
  /** It has said that it can do nothing before there is news; with `all`, a mere result waits for the other results. */
  waits(all: boolean): void;
}

/** What other people's servers give to this worker, asked again whenever the program looks. */
export type ForeignTools = () => readonly Tool[];

/** Our tools as a program gets them: the same as everybody's, but none keeps it waiting. */
export function programToolbox(
  work: NodeWork,
  { human, waits }: ProgramToolPorts,
  team: Colleagues,
  foreign: ForeignTools,
): Tools {
  const { worker, place, mailbox } = work;
  const mail = { waiting: () => mailbox.waiting, arrived: async () => {} };
  const all = nodeTools(work, { mail, human, team }).map((tool) =>
    tool.spec.name === "check_messages" ? checkMessagesTool(waits) : tool,
  );
  return withRepeatGuard(new Toolbox(allowedOnNode(all, worker, place), () => allowedOnNode(foreign(), worker, place)));
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

/** What stands behind the door: the tools, with each call in the record before it begins. */
export interface CallRecording {
  transcript: Transcript;
  /** The work, not the connection: a program that dies in the middle of its publish has published all the same. */
  signal: AbortSignal;
  isOver(): boolean;
  /** It was ended for a publish. */
  isStoppedForPublish(): boolean;
  /** A call is under way; call what is returned when it no longer is. */
  busy(): () => void;
  ends(outcome: Outcome): void;
}

/**
 * DOOR-TOOLS-1. A call is on disk before it begins, and its result before it is told.
 * DOOR-TOOLS-2. A call that ends the work is never answered: the program is ended instead, so nothing more is spent.
 *     Where the program was ended and no call of it has ended the work, the last one to be over makes that this try's
 *     failure: what it called in the same breath as its publish takes nothing from the publish.
 */
export function recordedTools(tools: Tools, keeper: CallRecording): Tools {
  let underWay = 0;
  const refused: string[] = [];
  const recorded = async (run: () => Promise<ResultEntry>): Promise<ResultEntry> => {
    const done = keeper.busy();
    underWay += 1;
    try {
      const result = await run();
      await keeper.transcript.result(result);
      if (result.ending) keeper.ends(result.ending);
      else if (!keeper.isStoppedForPublish()) return result;
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
      return recorded(() => tools.run(call, keeper.signal));
    },
    settle: (call, signal) => tools.settle(call, signal),
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
