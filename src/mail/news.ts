import {
  backgroundCommandNamed,
  currentStage,
  describePage,
  type EndedNode,
  hasEnded,
  isStageDone,
  type Letter,
  type NodeState,
  type Question,
  type Situation,
  stageTitle,
  triggerNamed,
  waitingFor,
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

/** After a stop, while it decides. */
export const STOPPED =
  "What is unfinished is stopped. It goes on when you next wait for news (say nothing); first cancel_node what is no longer wanted.";

type Ending = "node.completed" | "node.failed" | "node.cancelled";

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
  /** Present when somebody speaks, not the house: the human, the coordinator, a colleague. */
  from?: string;
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
    const forWhom = to !== reader && to !== "*" ? ` for ${nameOf(to, now)}, who has no work now` : "";
    return { text: `[Message from ${nameOf(from, now)}${forWhom}]: ${text}`, message_id, from };
  }
  if (fact.type === "message.forwarded" && fact.data.to === reader) {
    const letter = now.letters.queued[fact.data.message_id];
    if (!letter) return undefined;
    const whom = `${nameOf(letter.to, now)}, who has finished`;
    return {
      text: `[Message from ${nameOf(letter.from, now)} for ${whom}]: ${letter.text}`,
      message_id: letter.id,
      from: letter.from,
    };
  }
  if (fact.type === "human.nudge") {
    return reader === COORDINATOR ? { text: `[A hint from your human]: ${fact.data.text}`, from: HUMAN } : undefined;
  }
  if (fact.type === "process.exited") return endOfCommand(reader, fact, now, on);
  if (fact.type === "human.response") return answerNews(reader, fact, now, on);
  if (fact.type === "goal.set") return reader === COORDINATOR ? { text: goalNews(fact), isQuiet: true } : undefined;
  const text = reader === COORDINATOR ? newsOfTheTeam(fact, now) : newsOfChildren(reader, fact, now, on);
  if (text === undefined) return undefined;
  if (fact.type === "agent.resumed") return { text, cycle: "goes on" };
  return fact.type === "node.completed" ? { text, isResult: true } : { text };
}

/** Whoever waits for an answer has it as the result of their call; whoever went on meanwhile is told. */
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
  return { text: `[Message from ${nameOf(from, now)}]: ${text}`, message_id: id, from };
}

function newsOfTheTeam(fact: Fact, now: Situation): string | undefined {
  switch (fact.type) {
    case "node.completed":
    case "node.failed": {
      // It has been reopened since.
      if (!stands(fact, now)) return undefined;
      // A worker hears of the nodes below its own, and answers for them while it is at work.
      if (parentWhen(fact, now)) return undefined;
      return `${endOf(fact.data.node_id, now)}${stageNews(fact, now)}`;
    }
    case "node.cancelled":
      return cancellationOf(fact, now);
    case "node.updated":
      return fact.data.by === HUMAN ? `Your human changed ${changesOf(fact)}` : undefined;
    case "suggestion.made":
      return `${nameOf(fact.data.worker_id, now)} suggests: ${fact.data.suggestion}`;
    case "insight.offered": {
      const insight = Object.values(now.insights.open).find(({ seq }) => seq === fact.seq);
      if (!insight) return undefined;
      const { id, worker_id, title, content } = insight;
      return `${nameOf(worker_id, now)} offers ${id} for your memory: ${title}\n${content}\nTake it with accept_insight, or decline it.`;
    }
    case "worker.checkpointed":
      return fact.data.worker_id === COORDINATOR
        ? undefined
        : `${nameOf(fact.data.worker_id, now)} reports: ${fact.data.summary}`;
    case "node.reopened":
      return parentWhen(fact, now) ? undefined : reopeningOf(fact, now);
    case "budget.set":
      return budgetNews(fact, now);
    // Told the state of the board, so that it does not go by what it remembers of it.
    case "agent.resumed": {
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

/** What the work rested for. Who has it go on is not said: a terminal does so by itself when another process ends. */
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
    return `${nameOf(fact.data.by, now)} changed your node, ${changesOf(fact)}`;
  if (!isEndOrReopening(fact)) return undefined;
  if (fact.type !== "node.reopened" && !stands(fact, now)) return undefined;
  const parent = parentWhen(fact, now);
  const mine = parent && "worker_id" in parent && parent.worker_id === reader && (on ?? parent.id) === parent.id;
  if (!mine) return undefined;
  const { node_id } = fact.data;
  if (fact.type === "node.cancelled") return `${endOf(node_id, now, "worker")}${waitingWords(node_id, now)}`;
  return fact.type === "node.reopened" ? reopeningOf(fact, now) : endOf(node_id, now, "worker");
}

/** To somebody who waits: that the work on a node beside theirs has ended. */
export function newsOfColleague(fact: Fact, now: Situation, on: NodeId): News | undefined {
  if (!isEndOrReopening(fact) || fact.type === "node.reopened" || !stands(fact, now)) return undefined;
  const [mine, other] = [now.board.nodes[on], now.board.nodes[fact.data.node_id]];
  return mine && isBeside(mine, other) ? endNews(other, now) : undefined;
}

const MOST_COLLEAGUES = 20;

/** What has ended beside this node since it was made, after this fact: the newest. */
export function endsOfColleagues(on: NodeId, now: Situation, after: number): News[] {
  const mine = now.board.nodes[on];
  if (!mine) return [];
  const stage = now.stages.find(({ run_id, number }) => run_id === mine.spec.run_id && number === mine.spec.stage);
  return (stage?.nodes ?? [])
    .flatMap((id) => now.board.nodes[id] ?? [])
    .filter((other) => isBeside(mine, other))
    .filter((other) => other.ended_seq > after && other.ended_ts >= mine.created_ts)
    .sort((a, b) => a.ended_seq - b.ended_seq)
    .slice(-MOST_COLLEAGUES)
    .map((other) => endNews(other, now));
}

/** Handed out in the same stage under the same node, and ended. What it builds on is among its inputs, and no news. */
function isBeside({ id, spec }: NodeState, other: NodeState | undefined): other is EndedNode {
  return (
    hasEnded(other) &&
    other.id !== id &&
    other.spec.run_id === spec.run_id &&
    other.spec.stage === spec.stage &&
    other.spec.parent_node_id === spec.parent_node_id &&
    !spec.dependencies.includes(other.id)
  );
}

function endNews({ id, status }: EndedNode, now: Situation): News {
  const text = endOf(id, now, "worker");
  return status === "completed" ? { text, isResult: true } : { text };
}

function isEndOrReopening(fact: Fact): fact is FactOf<Ending | "node.reopened"> {
  return (
    fact.type === "node.completed" ||
    fact.type === "node.failed" ||
    fact.type === "node.cancelled" ||
    fact.type === "node.reopened"
  );
}

/** The coordinator knows what it cancelled itself, and hears of those that lost with the news of who won. */
function cancellationOf(fact: FactOf<"node.cancelled">, now: Situation): string | undefined {
  if (fact.data.by !== HUMAN || !stands(fact, now) || parentWhen(fact, now)) return undefined;
  const { node_id } = fact.data;
  return `Your human cancelled ${node_id}: ${fact.data.reason}${waitingWords(node_id, now)}${stageNews(fact, now)}`;
}

function waitingWords(id: NodeId, { board }: Situation): string {
  const waiting = waitingFor([id], board).join(", ");
  return waiting ? `\nNot begun, since it depends on ${id}: ${waiting}.` : "";
}

/** Whole: whoever works on it goes by this from now on. */
function changesOf({ data: { node_id, task, deliverables, checks } }: FactOf<"node.updated">): string {
  const list = (name: string, items: readonly string[] | undefined) =>
    items === undefined ? [] : [`${name}: ${items.join(", ") || "none"}.`];
  const changes = [
    ...(task === undefined ? [] : [`Its task now: ${task}`]),
    ...list("Its deliverables now", deliverables),
    ...list("Its checks now", checks),
  ];
  return `${node_id}. ${changes.join("\n")}`;
}

/** Whoever answers for it: the nearest node above that was still open when it happened, however late it is read. */
function parentWhen({ seq, data }: FactOf<Ending | "node.reopened">, { board }: Situation): NodeState | undefined {
  for (let above = board.nodes[data.node_id]?.spec.parent_node_id; above; ) {
    const parent = board.nodes[above];
    if (parent && !(hasEnded(parent) && parent.ended_seq < seq)) return parent;
    above = parent?.spec.parent_node_id ?? null;
  }
  return undefined;
}

/** A model that had it itself is told in its conversation, which goes on (`resumeWork`). */
function isTakenBack({ data: { from, reserved_for } }: FactOf<"node.reopened">, { roster }: Situation): boolean {
  return from !== undefined && from === reserved_for && roster[from]?.spawned.kind === "harnessed";
}

/** To whoever has it from now on. */
function takingOver({ data }: FactOf<"node.reopened">, now: Situation): string | undefined {
  const { node_id, why, from, did } = data;
  if (why !== "reassigned" || from === undefined) return undefined;
  return `You take over ${node_id}, which ${nameOf(from, now)} had. What was done is in your folder: look at it and go on from there, do not begin again.${did ? `\n${did}` : ""}`;
}

function reopeningOf({ data }: FactOf<"node.reopened">, now: Situation): string | undefined {
  const { node_id, why, reserved_for, by } = data;
  if (why === "reassigned")
    return by === HUMAN && reserved_for !== null
      ? `Your human has ${reserved_for === HUMAN ? `taken over ${node_id}` : `given ${node_id} to ${nameOf(reserved_for, now)}`}.`
      : undefined;
  return why === "trigger"
    ? `${node_id} had failed and is tried again, as a trigger asks.`
    : `${node_id} had run out of money and goes on where it was.`;
}

/** An end that was taken back is no news; there will be another. */
function stands(fact: FactOf<Ending>, { board }: Situation): boolean {
  const node = board.nodes[fact.data.node_id];
  return hasEnded(node) && node.ended_seq === fact.seq;
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

/** What is not published only the coordinator can read. */
type Reader = "lead" | "worker";

const MOST_BELOW = 20;
const MOST_FILES = 50;
const LONGEST_BELOW = 600;

/** With what had ended below it unheard, all the way down: otherwise nobody would ever be told of it. */
function endOf(id: NodeId, now: Situation, reader: Reader = "lead"): string {
  const below = unheardBelow(id, now);
  if (below.length === 0) return endOfOne(id, now, reader);
  const more = below.length > MOST_BELOW ? [`… ${below.length - MOST_BELOW} more, see check_board.`] : [];
  const lines = below
    .slice(0, MOST_BELOW)
    .map((each) => `- ${cut(endOfOne(each, now, reader)).replaceAll("\n", "\n  ")}`);
  return [endOfOne(id, now, reader), "Ended below it, unheard:", ...lines, ...more].join("\n");
}

function unheardBelow(id: NodeId, { board }: Pick<Situation, "board">): NodeId[] {
  const node = board.nodes[id];
  const unheard = hasEnded(node) ? node.unheard : [];
  return unheard.flatMap((each) => [each, ...unheardBelow(each, { board })]);
}

function endOfOne(id: NodeId, now: Situation, reader: Reader): string {
  const node = now.board.nodes[id];
  if (!hasEnded(node)) return `${id} has ended.`;
  if (node.status === "cancelled") return `${id} was cancelled by ${nameOf(node.by, now)}: ${node.reason}`;
  const named = node.files.slice(0, MOST_FILES).map((file) => `nodes/${id}/published/${file.path}`);
  const list = `${named.join(", ")}${node.files.length > MOST_FILES ? ` and ${node.files.length - MOST_FILES} more` : ""}`;
  if (node.status === "completed") {
    return `${id} completed by ${nameOf(node.worker_id, now)}: ${node.summary}${list ? `\nPublished: ${list}` : ""}`;
  }
  const { outcome } = node;
  const why = "error" in outcome ? outcome.error : outcome.kind.replace("_", " ");
  const unfinished = reader === "lead" ? ` Its unfinished files are in nodes/${id}/scratch/.` : "";
  return `${id} failed: ${why.replace(/\.$/, "")}.${list ? ` What was done is in ${list}.` : unfinished}`;
}

function cut(text: string): string {
  return text.length > LONGEST_BELOW ? `${text.slice(0, LONGEST_BELOW - 1)}…` : text;
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

function nameOf(id: string, now: Situation): string {
  return id === HUMAN ? "your human" : (now.roster[id]?.spawned.name ?? id);
}
