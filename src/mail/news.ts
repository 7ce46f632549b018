import {
  backgroundCommandNamed,
  currentStage,
  describePage,
  isStageDone,
  type Letter,
  type Question,
  type Situation,
  stageTitle,
  triggerNamed,
} from "../projections/index.ts";
import {
  AGIRAPH,
  COORDINATOR,
  DEADLINE,
  type Fact,
  type FactOf,
  HEARTBEAT_OK,
  HUMAN,
  isMadeByTrigger,
  type NodeId,
  triggerIn,
} from "../protocol/index.ts";
import { branchNews, isStillRefused } from "./branch-news.ts";
import {
  changesOf,
  dependantsOf,
  isEndOrReopening,
  isTakenBack,
  nodeEndText,
  parentWhen,
  reopeningOf,
  stands,
  takingOver,
  workerName,
} from "./node-news.ts";

/** After a stop, while it decides. */
export const STOPPED =
  "What is unfinished is stopped. It goes on when you next wait for news (say nothing); first cancel_node what is no longer wanted.";

export interface News {
  text: string;
  /** Present when it is a message, which is received by being told. */
  message_id?: string;
  /** Only a heartbeat. */
  beat?: true;
  /** Only a cycle that begins, or that the work goes on with it. */
  cycle?: "begins" | "goes on";
  /** Only that a node is completed. */
  isResult?: true;
  /** It wakes nobody: it is told with what comes next. */
  isQuiet?: true;
  /** Present when somebody speaks, not Agiraph: the human, the coordinator, a colleague. */
  from?: string;
  /** Present on what may be overtaken before it is read: whether it still is so. */
  stands?(now: Situation): boolean;
}

/**
 * What this fact tells this reader, in words, or nothing. Pure: mail is a view of the log. News about sub-nodes goes to
 * the worker on their parent, and only while it works on it.
 */
export function newsFor(reader: string, fact: Fact, now: Situation, on?: NodeId): News | undefined {
  if (fact.type === "message.sent") {
    const { from, to, message_id, text } = fact.data;
    const isFor = (fact.data.reader ?? to) === reader || (to === "*" && from !== reader);
    if (!isFor) return undefined;
    if (isMadeByTrigger(message_id)) return reminder(message_id, text, now);
    if (from === AGIRAPH) return { text: `[Agiraph]: ${text}`, message_id, from };
    const forWhom = to !== reader && to !== "*" ? ` for ${workerName(to, now)}, who has no work now` : "";
    return { text: `[Message from ${workerName(from, now)}${forWhom}]: ${text}`, message_id, from };
  }
  if (fact.type === "message.forwarded" && fact.data.to === reader) {
    const letter = now.letters.queued[fact.data.message_id];
    if (!letter) return undefined;
    const whom = `${workerName(letter.to, now)}, who has finished`;
    return {
      text: `[Message from ${workerName(letter.from, now)} for ${whom}]: ${letter.text}`,
      message_id: letter.id,
      from: letter.from,
    };
  }
  if (fact.type === "human.nudge") {
    return reader === COORDINATOR ? { text: `[A hint from your human]: ${fact.data.text}`, from: HUMAN } : undefined;
  }
  if (fact.type === "process.exited") return endOfCommand(reader, fact, now, on);
  if (fact.type === "human.response") return answerNews(reader, fact, now, on);
  const branch = reader === COORDINATOR ? branchNews(fact) : undefined;
  if (branch !== undefined) return { text: branch, isQuiet: true, ...passing(fact) };
  if (fact.type === "goal.set") return reader === COORDINATOR ? { text: goalNews(fact), isQuiet: true } : undefined;
  const text = reader === COORDINATOR ? newsOfTheTeam(fact, now) : newsOfChildren(reader, fact, now, on);
  if (text === undefined) return undefined;
  if (fact.type === "agent.resumed") return { text, cycle: "goes on" };
  return fact.type === "node.completed" ? { text, isResult: true } : { text };
}

function passing(fact: Fact): Pick<News, "stands"> {
  return fact.type === "merge.refused" ? { stands: (now) => isStillRefused(fact, now) } : {};
}

/** Anyone who waits for an answer has it as the result of their call; anyone who went on meanwhile is told. */
function answerNews(
  reader: string,
  { data }: FactOf<"human.response">,
  { questions }: Situation,
  on: NodeId | undefined,
): News | undefined {
  if (data.worker_id !== reader) return undefined;
  const question =
    questions.answered[data.question_id] ?? questions.settled.findLast(({ id }) => id === data.question_id);
  if (!question?.deferred || (question.node_id ?? undefined) !== on) return undefined;
  const asked = question.text.length > LONGEST_ASKED ? `${question.text.slice(0, LONGEST_ASKED)}…` : question.text;
  return { text: `[You asked (${question.id}): ${asked}]\n${answerInWords(question)}`, from: HUMAN };
}

const LONGEST_ASKED = 200;

export function answerInWords(question: Question | undefined): string {
  if (!question?.answer) return "The question was withdrawn.";
  const { text, channel } = question.answer;
  if (channel !== DEADLINE) return `Your human answers: ${text}`;
  return text === "" ? "No answer came in time. Decide yourself." : `No answer came in time. Go on with: ${text}`;
}

/** A command that somebody had left running, told to them while they are on the same work. */
function endOfCommand(
  reader: string,
  { data }: FactOf<"process.exited">,
  { commands }: Situation,
  on?: NodeId,
): News | undefined {
  const { background, worker_id, node_id, code, output, interrupted } = data;
  if (background === undefined || worker_id !== reader || (on !== undefined && node_id !== on)) return undefined;
  const command = backgroundCommandNamed(commands, worker_id, background)?.command;
  const which = `Background command ${background}${command ? ` (${command})` : ""}`;
  if (interrupted) return { text: `${which} ${ENDED_WITH_US}` };
  const how = code === null ? "was ended" : `ended with exit code ${code}`;
  return { text: output ? `${which} ${how}. It printed:\n${output}` : `${which} ${how} and printed nothing new.` };
}

/** What became of a command that ran when our process was killed. */
export const ENDED_WITH_US =
  "ended because Agiraph was interrupted. What it printed is lost; files that it wrote are still there. Start it again if you need it.";

/** What a trigger has to say. */
function reminder(message_id: string, text: string, { triggers }: Situation): News {
  const id = triggerIn(message_id);
  const trigger = triggerNamed(triggers, id);
  const isBeat = trigger?.when.type === "heartbeat";
  const isCycle = trigger?.created_by === AGIRAPH && trigger.when.type === "delayed";
  const news: News = { text: `[${id} is due]: ${text}`, message_id, ...(isCycle && { cycle: "begins" }) };
  return isBeat
    ? { ...news, text: `${news.text}\nIf nothing needs you, answer ${HEARTBEAT_OK} and nothing else.`, beat: true }
    : news;
}

/** A message addressed to this reader. */
export function newsOfLetter({ id, from, text }: Letter, now: Situation): News {
  if (isMadeByTrigger(id)) return reminder(id, text, now);
  if (from === AGIRAPH) return { text: `[Agiraph]: ${text}`, message_id: id, from };
  return { text: `[Message from ${workerName(from, now)}]: ${text}`, message_id: id, from };
}

function newsOfTheTeam(fact: Fact, now: Situation): string | undefined {
  switch (fact.type) {
    case "node.completed":
    case "node.failed": {
      // It has been reopened since.
      if (!stands(fact, now)) return undefined;
      // A worker hears of the nodes below its own, and answers for them while it is at work.
      if (parentWhen(fact, now)) return undefined;
      return `${nodeEndText(fact.data.node_id, now)}${stageNews(fact, now)}`;
    }
    case "node.cancelled":
      return cancellationOf(fact, now);
    case "node.updated":
      return fact.data.by === HUMAN ? `Your human changed ${changesOf(fact)}` : undefined;
    case "suggestion.made":
      return `${workerName(fact.data.worker_id, now)} suggests: ${fact.data.suggestion}`;
    case "insight.offered": {
      const insight = Object.values(now.insights.open).find(({ seq }) => seq === fact.seq);
      if (!insight) return undefined;
      const { id, worker_id, title, content } = insight;
      return `${workerName(worker_id, now)} offers ${id} for your memory: ${title}\n${content}\nTake it with accept_insight, or decline it.`;
    }
    case "worker.checkpointed":
      return fact.data.worker_id === COORDINATOR
        ? undefined
        : `${workerName(fact.data.worker_id, now)} reports: ${fact.data.summary}`;
    case "node.reopened":
      return parentWhen(fact, now) ? undefined : reopeningOf(fact, now);
    case "budget.set":
      return budgetNews(fact, now);
    // Told the state of the board, so that it does not rely on what it remembers of it.
    case "agent.resumed": {
      if (fact.data.was === "idle") return undefined;
      const hasNodes = Object.keys(now.board.nodes).length > 0;
      const board = hasNodes ? ` The board as it is:\n${describePage(now.board, now.agent.run?.id)}` : "";
      return fact.data.coordinator_decides
        ? `${restWords(fact)}${fact.data.why ? "; your human speaks" : " and speaks"} to you now.${board}\n${STOPPED}`
        : `${restWords(fact)}. It goes on now.${board}\nGo on where you were.`;
    }
    default:
      return undefined;
  }
}

/** What the work rested for. It does not say who resumed it: a terminal does so by itself when another process ends. */
function restWords({ data }: FactOf<"agent.resumed">): string {
  const { why, was = data.coordinator_decides ? "stopped" : undefined } = data;
  if (was === "failed") return `The run had failed${why ? ` (${why.replace(/\.$/, "")})` : ""}`;
  if (was === undefined) return "The work was paused or interrupted";
  if (why) return was === "paused" ? `The work was paused (${why})` : `The work was interrupted: ${why}`;
  return `Your human had ${was} the work`;
}

function newsOfChildren(reader: string, fact: Fact, now: Situation, on?: NodeId): string | undefined {
  if (fact.type === "node.reopened" && fact.data.reserved_for === reader && fact.data.node_id === on)
    return isTakenBack(fact, now) ? undefined : takingOver(fact, now);
  if (fact.type === "node.updated" && fact.data.node_id === on)
    return `${workerName(fact.data.by, now)} changed your node, ${changesOf(fact)}`;
  if (!isEndOrReopening(fact)) return undefined;
  if (fact.type !== "node.reopened" && !stands(fact, now)) return undefined;
  const parent = parentWhen(fact, now);
  const mine = parent && "worker_id" in parent && parent.worker_id === reader && (on ?? parent.id) === parent.id;
  if (!mine) return undefined;
  const { node_id } = fact.data;
  if (fact.type === "node.cancelled") return `${nodeEndText(node_id, now, "worker")}${dependantsOf(node_id, now)}`;
  return fact.type === "node.reopened" ? reopeningOf(fact, now) : nodeEndText(node_id, now, "worker");
}

/** The coordinator knows what it cancelled itself, and hears of those that lost with the news of who won. */
function cancellationOf(fact: FactOf<"node.cancelled">, now: Situation): string | undefined {
  if (fact.data.by !== HUMAN || !stands(fact, now) || parentWhen(fact, now)) return undefined;
  const { node_id } = fact.data;
  return `Your human cancelled ${node_id}: ${fact.data.reason}${dependantsOf(node_id, now)}${stageNews(fact, now)}`;
}

function goalNews({ data }: FactOf<"goal.set">): string {
  return `Your human changed your goal (agent/GOAL.md). It is now:\n${data.goal}`;
}

function budgetNews({ data }: FactOf<"budget.set">, { board, agent, spending }: Situation): string {
  const { budget_usd, budget_tokens } = data;
  const money = budget_usd === undefined ? [] : budget_usd === null ? ["without a limit in USD"] : [`$${budget_usd}`];
  const limits = [...money, ...(budget_tokens === undefined ? [] : [`${budget_tokens} tokens`])];
  const { usage, cost_usd } = spending.total;
  const spent = [
    ...(budget_usd === undefined ? [] : [`$${cost_usd.toFixed(4)}`]),
    ...(budget_tokens === undefined ? [] : [`${usage.input + usage.output} tokens`]),
  ];
  const out = Object.values(board.nodes).filter(
    ({ spec, ...node }) =>
      spec.run_id === agent.run?.id && node.status === "failed" && node.outcome.kind === "budget_exhausted",
  );
  const shares = out.map(({ id }) => id).join(", ");
  const rest = shares
    ? ` What ran out of its own share stays as it is (${shares}): hand out the rest as new work.`
    : "";
  return `The budget is now ${limits.join(" and ")}; ${spent.join(" and ")} is spent.${rest}`;
}

/** Of those who lost it tells with the end that decided it, unless they were completed all the same. */
function stageNews({ seq }: Fact, now: Situation): string {
  const run = now.agent.run?.id;
  const stage = run ? currentStage(now.stages, run) : undefined;
  if (!stage || !isStageDone(stage, now.board)) return "";
  const hasLost = (each: { id: NodeId; seq: number }) =>
    each.seq === seq && now.board.nodes[each.id]?.status !== "completed";
  const losers = (stage.losers ?? [])
    .filter(hasLost)
    .map(({ id }) => id)
    .join(", ");
  const over = losers ? ` No longer needed, so cancelled: ${losers}.` : "";
  return `\n${stageTitle(stage)} is done.${over} Reconvene, create more work, or finish.`;
}
