import type { ToolSpec } from "../models/model.ts";
import { type NodeState, openBelow, type WorkerState } from "../projections/index.ts";
import type { Outcome } from "../protocol/index.ts";
import { closeTools, type Tool } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { beginAssignment, inOneReply, withTools } from "./assignment.ts";
import { openHumanLine } from "./loop/human-line.ts";
import { runRecordedLoop } from "./loop/recorded-loop.ts";
import { withRepeatGuard } from "./loop/repeat-guard.ts";
import { restateForWorker } from "./loop/restate.ts";
import { untoldMail, waitForMail, waitOrAsk, waitsFor } from "./loop/waiting.ts";
import { allowedOnNode, nodeTools } from "./node-tools.ts";
import { type NodeWork, resumeWork } from "./node-work.ts";
import { publishAnswer } from "./publishing.ts";
import type { Colleagues, Workplace } from "./workplace.ts";

/** A model that works on a node in our loop, until it publishes. */
export async function workOnNode(
  node: NodeState,
  worker: WorkerState,
  team: Colleagues,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const model = await workplace.model(worker.spawned.model);
  const single = node.spec.inference === "single";
  let own: readonly Tool[] = [];
  const work = await resumeWork(node, worker, workplace, signal, () => closeTools(own));
  const { self, scope, port, mailbox, begun } = work;
  mailbox.aside = () => team.begun(worker.id);
  const begin = async (offered: readonly ToolSpec[]) => {
    const first = await beginAssignment(work, single ? inOneReply(model) : withTools(scope, offered));
    return { ...first, history: [...work.earlier, ...first.history] };
  };
  const human = openHumanLine(self, workplace, mailbox);
  try {
    // It is told when its own sub-nodes end, but not what colleagues do: only the former is worth waiting for.
    const othersWork = () => openBelow(node, workplace.now().board).length > 0;
    const mailPort = mailOf(work, othersWork);
    const all = () => [
      ...workplace.tools(scope, self, model, workplace),
      ...nodeTools(work, { mail: mailPort, human, team }),
    ];
    own = single ? [] : allowedOnNode(all(), worker, workplace);
    const foreign = single ? () => [] : await workplace.foreignTools(self, workplace);
    const repeats = { othersWork, news: (until: AbortSignal) => mailPort.arrived(until, false) };
    const toolbox = withRepeatGuard(new Toolbox(own, () => allowedOnNode(foreign(), worker, workplace)), repeats);
    const past = begun ?? (await begin(toolbox.specs));
    const assignment = {
      ...past,
      // The contract limits all tries together, but each try gets at least one turn.
      maxTurns: Math.max(single ? 1 : workplace.maxTurns + past.flushTurns, past.tried + 1),
      compactable: single
        ? null
        : {
            flushWords: () => workplace.prompts("memory-flush"),
            restate: () => restateForWorker(node, worker.id, scope, workplace.now(), mailbox.untoldFrom),
          },
      onReplyWithoutCall: single ? publishAnswer(node, scope, port) : waitOrAsk(work),
    };
    const mail = () => untoldMail(work);
    return await runRecordedLoop(
      assignment,
      { model, toolbox, mail, isUrgent: () => mailbox.isUrgent },
      self,
      workplace,
      signal,
    );
  } finally {
    await closeTools(own);
    human.close();
    mailbox.close();
  }
}

/** How the worker waits for its mail: for any of it, or until all of its open sub-nodes have ended. */
function mailOf(work: NodeWork, othersWork: () => boolean) {
  const { mailbox } = work;
  return {
    waiting: () => mailbox.waiting,
    async arrived(until: AbortSignal, all: boolean) {
      const isEnough = all && othersWork() ? () => mailbox.hasMoreThanResults || !othersWork() : undefined;
      const reason = waitsFor(work);
      if (reason === "news") mailbox.hearColleagues();
      if (isEnough || mailbox.waiting === 0) await waitForMail(work, reason, until, isEnough);
    },
  };
}
