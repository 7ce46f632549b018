import { type NodeState, openBelow, type WorkerState } from "../projections/index.ts";
import type { Outcome } from "../protocol/index.ts";
import { closeTools, type Tool } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { beginAssignment, inOneReply, withTools } from "./assignment.ts";
import { asking } from "./loop/asking.ts";
import { runRecordedLoop } from "./loop/recorded-loop.ts";
import { withRepeatGuard } from "./loop/repeat-guard.ts";
import { restateForWorker } from "./loop/restate.ts";
import { newsOn, waitForMail, waitOrAsk, waitsFor } from "./loop/waiting.ts";
import { allowedOnNode, nodeTools } from "./node-tools.ts";
import { publishAnswer } from "./publishing.ts";
import { resumeWork } from "./resume.ts";
import type { Colleagues, Workplace } from "./workplace.ts";

/** A model that works on a node in our loop, until it publishes. */
export async function workOnNode(
  node: NodeState,
  worker: WorkerState,
  team: Colleagues,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const model = await place.model(worker.spawned.model);
  const single = node.spec.inference === "single";
  let hands: readonly Tool[] = [];
  const work = await resumeWork(node, worker, place, signal, () => closeTools(hands));
  const { actor, scope, port, mailbox, begun, cursor } = work;
  mailbox.aside = () => team.begun(worker.id);
  const manner = single ? inOneReply(model) : withTools(scope);
  const begin = async () => {
    const first = await beginAssignment(node, worker, scope, actor, cursor, place, manner);
    return { ...first, history: [...work.earlier, ...first.history] };
  };
  const human = asking(actor, place, mailbox);
  try {
    const mailPort = {
      waiting: () => mailbox.waiting,
      arrived: (until: AbortSignal, all: boolean) => {
        const isWaitedFor = () => openBelow(node, place.now().board).length > 0;
        const isEnough = all && isWaitedFor() ? () => mailbox.hasMoreThanResults || !isWaitedFor() : undefined;
        return waitForMail(actor, waitsFor(node, actor, place), mailbox, place, until, isEnough);
      },
    };
    const all = () => [
      ...place.tools(scope, actor, model, place),
      ...nodeTools(node, work, mailPort, human, team, place),
    ];
    hands = single ? [] : allowedOnNode(all(), worker, place);
    const foreign = single ? () => [] : await place.foreignTools(actor, place);
    // Of its parts it hears; of what colleagues do it does not, so only the first is worth waiting for.
    const othersWork = () => openBelow(node, place.now().board).length > 0;
    const repeats = { othersWork, news: (until: AbortSignal) => mailPort.arrived(until, false) };
    const toolbox = withRepeatGuard(new Toolbox(hands, () => allowedOnNode(foreign(), worker, place)), repeats);
    const past = begun ?? (await begin());
    const job = {
      ...past,
      // The contract bounds all tries together, but a try that nobody could begin would be none.
      maxTurns: Math.max(single ? 1 : place.maxTurns + past.flushTurns, past.tried + 1),
      compactable: single
        ? null
        : {
            flushWords: () => place.prompts("memory-flush"),
            restate: () => restateForWorker(node, worker.id, scope, place.now(), mailbox.untoldFrom),
          },
      onSilence: single ? publishAnswer(node, scope, port) : waitOrAsk(node, actor, mailbox, place),
    };
    const mail = () => newsOn(node, mailbox, place);
    return await runRecordedLoop(job, { model, toolbox, mail, isUrgent: () => mailbox.isUrgent }, actor, place, signal);
  } finally {
    await closeTools(hands);
    human.close();
    mailbox.close();
  }
}
