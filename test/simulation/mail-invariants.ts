import type { NodeState } from "../../src/projections/index.ts";
import { COORDINATOR, type Fact, type FactOf, HUMAN, type NodeId, type StoredEntry } from "../../src/protocol/index.ts";
import { factsOf, runsBegunByWords } from "./invariants.ts";
import type { History } from "./simulate.ts";

interface Letter {
  sent: FactOf<"message.sent">;
  reader: string;
  seenBy: string[];
  expired: boolean;
}

/** TEAM-6: messages, and what else people have to be told. */
export function mailProblems(history: History): string[] {
  const { letters, problems } = delivered(history.facts);
  return [
    ...problems,
    ...letters.flatMap((letter) => fateProblems(letter, history)),
    ...wordProblems(letters, history),
    ...letters.flatMap((letter) => promptnessProblems(letter, history.facts)),
    ...newsProblems(history),
  ];
}

function delivered(facts: readonly Fact[]): { letters: Letter[]; problems: string[] } {
  const letters = new Map<string, Letter>();
  const problems: string[] = [];
  const work = new Map<NodeId, string>();
  for (const fact of facts) {
    if (fact.type === "node.assigned" || fact.type === "node.reserved")
      work.set(fact.data.node_id, fact.data.worker_id);
    if (fact.type === "node.completed") work.delete(fact.data.node_id);
    // One that has lost may end with its run.
    if (fact.type === "node.cancelled" && fact.data.by !== "agiraph") work.delete(fact.data.node_id);
    // A node that ends with its run had a reader to the last.
    if (fact.type === "node.failed" && fact.data.outcome.kind !== "stopped") work.delete(fact.data.node_id);
    if (fact.type === "message.sent") {
      const { message_id, reader, to } = fact.data;
      letters.set(message_id, { sent: fact, reader: reader ?? to, seenBy: [], expired: false });
    }
    if (fact.type !== "message.received" && fact.type !== "message.forwarded" && fact.type !== "message.expired")
      continue;
    const letter = letters.get(fact.data.message_id);
    const where = `TEAM-6: fact ${fact.seq}, ${fact.type} of ${fact.data.message_id}`;
    if (!letter) problems.push(`${where}: nobody sent it`);
    else if (letter.expired) problems.push(`${where}: it has expired`);
    else if (letter.reader !== "*" && letter.seenBy.length > 0) problems.push(`${where}: ${letter.seenBy} has seen it`);
    else if (fact.type === "message.forwarded") letter.reader = fact.data.to;
    else if (fact.type === "message.expired") {
      letter.expired = true;
      if (![COORDINATOR, "*", ...work.values()].includes(letter.reader))
        problems.push(`${where}: ${letter.reader} had gone long before and nobody got it instead`);
    } else {
      const { by } = fact.data;
      if (letter.reader === "*" ? by === letter.sent.data.from : by !== letter.reader)
        problems.push(`${where}: by ${by}, it is for ${letter.reader}`);
      if (letter.seenBy.includes(by)) problems.push(`${where}: ${by} has seen it`);
      letter.seenBy.push(by);
    }
  }
  return { letters: [...letters.values()], problems };
}

/** Once the run is over nothing waits any more, but for the next goal of somebody who lacks money, or whom people stopped. */
function fateProblems({ sent, reader, seenBy, expired }: Letter, { now, facts }: History): string[] {
  if (!now.agent.run?.finished || seenBy.length > 0 || expired || reader === HUMAN) return [];
  const { budget_usd } = now.agent.created;
  const isPoor = budget_usd !== null && now.spending.total.cost_usd >= budget_usd;
  const isToRest = facts.slice(sent.seq).some(({ type }) => type === "agent.paused" || type === "agent.stopped");
  if (sent.data.from === HUMAN && (isPoor || isToRest)) return [];
  return [`TEAM-6: ${sent.data.message_id} to ${sent.data.to} still waits for ${reader}`];
}

/**
 * The words stand once in the conversation of each who has seen it, and nowhere else. Only a trigger says the same words
 * more than once: at each occurrence.
 */
function wordProblems(letters: readonly Letter[], { conversations, facts }: History): string[] {
  const runs = new Set<string>(runsBegunByWords(facts).map(({ data }) => data.run_id));
  return [...Map.groupBy(letters, ({ sent }) => sent.data.text)].flatMap(([text, same]) =>
    workersIn(conversations).flatMap((worker) => {
      const times = heardBy(worker, conversations).reduce((sum, entry) => sum + timesIn(entry, text, runs), 0);
      // A heartbeat says its words and, at times, what else it saw.
      const begun = letters.filter(({ sent }) => sent.data.text.startsWith(text));
      const wanted = begun.filter(({ seenBy }) => seenBy.includes(worker)).length;
      const ids = same.map(({ sent }) => sent.data.message_id);
      return times === wanted ? [] : [`TEAM-6: ${ids} was told ${times} times to ${worker}, not ${wanted}`];
    }),
  );
}

function workersIn(conversations: History["conversations"]): string[] {
  return [...new Set(conversations.map(({ worker }) => worker))];
}

function heardBy(worker: string, conversations: History["conversations"]) {
  return conversations
    .filter((each) => each.worker === worker)
    .flatMap(({ entries }) => entries.filter((entry) => entry.role === "user"));
}

function timesIn(entry: StoredEntry, words: string, runs: ReadonlySet<string>): number {
  if (entry.role !== "user") return 0;
  // What the human said when nobody heard it any more is the goal of the next run.
  if (entry.run_id && !entry.node_id && !runs.has(entry.run_id)) return 0;
  if (entry.run_id && !entry.node_id) return entry.content.split("\n\n").filter((each) => each === words).length;
  return entry.content.split(`]: ${words}`).length - 1;
}

/** Who works has read it before the second of the turns that begin after it was sent. (The first may have begun.) */
function promptnessProblems({ sent, seenBy }: Letter, facts: readonly Fact[]): string[] {
  const { from, to, message_id } = sent.data;
  const reader = sent.data.reader ?? to;
  const readers = reader === "*" ? atWork(facts.slice(0, sent.seq)).filter((worker) => worker !== from) : [reader];
  return readers.flatMap((worker) => {
    let turns = 0;
    for (const fact of facts.slice(sent.seq)) {
      if (fact.type === "message.received" && fact.data.message_id === message_id && fact.data.by === worker) return [];
      if (fact.type === "message.forwarded" && fact.data.message_id === message_id) return [];
      // Away, and then back on other work: the coordinator has it.
      if (fact.type === "worker.idle" && fact.data.worker_id === worker && worker !== COORDINATOR) return [];
      if (fact.type === "run.finished") return [];
      if (fact.type === "model.called" && fact.data.worker_id === worker && ++turns > 1)
        return [
          `TEAM-6: ${worker} thought twice after ${message_id} and was not told (seen by ${seenBy.join() || "nobody"})`,
        ];
    }
    return [];
  });
}

function atWork(facts: readonly Fact[]): string[] {
  const at = new Set<string>([COORDINATOR]);
  for (const fact of facts) {
    if (fact.type === "worker.busy" || fact.type === "worker.waiting") at.add(fact.data.worker_id);
    if (fact.type === "worker.idle" || fact.type === "worker.retired") at.delete(fact.data.worker_id);
  }
  return [...at];
}

function hasEndedTwice({ id, status }: NodeState, facts: readonly Fact[]): boolean {
  return status === "cancelled" && factsOf(facts, "node.failed").some(({ data }) => data.node_id === id);
}

function untilRunEnds(facts: readonly Fact[]): readonly Fact[] {
  const end = facts.findIndex((fact) => fact.type === "run.finished");
  return end < 0 ? facts : facts.slice(0, end);
}

/** What a worker heard on each of its nodes: to a colleague who waits an end is told on each, for its words begin anew. */
function heardOnEach(worker: string, conversations: History["conversations"]): string[] {
  const words: string[] = [""];
  for (const entry of conversations.filter((each) => each.worker === worker).flatMap(({ entries }) => entries)) {
    if (worker !== COORDINATOR && "node_id" in entry && entry.node_id) words.push("");
    if (entry.role === "user") words.push(`${words.pop() ?? ""}\n${entry.content}`);
  }
  return words;
}

/** The end of a node is told once to whoever answers for it; suggestions and reports once to the coordinator. */
function newsProblems({ facts, conversations, now }: History): string[] {
  const problems: string[] = [];
  const heard = (worker: string) => heardBy(worker, conversations);
  for (const fact of [...factsOf(facts, "node.completed"), ...factsOf(facts, "node.failed")]) {
    const { node_id } = fact.data;
    const node = now.board.nodes[node_id];
    const parent = node?.spec.parent_node_id ? now.board.nodes[node.spec.parent_node_id] : undefined;
    const who = parent && "worker_id" in parent ? parent.worker_id : COORDINATOR;
    const ends = facts.filter(
      (each) => (each.type === "node.completed" || each.type === "node.failed") && each.data.node_id === node_id,
    );
    // An end that was taken back may have been told, and need not have been.
    if (!node || !("ended_seq" in node) || node.ended_seq !== fact.seq) continue;
    const words = new RegExp(`^${node_id} (completed by|failed:|has ended)`, "gm");
    for (const worker of workersIn(conversations)) {
      const onEach = heardOnEach(worker, conversations).map((all) => [...all.matchAll(words)].length);
      const times = Math.max(...onEach);
      if (times > ends.length) problems.push(`TEAM-6: the end of ${node_id} was told ${times} times to ${worker}`);
      const on = worker === COORDINATOR ? null : parent?.id;
      const turns = untilRunEnds(facts.slice(fact.seq)).filter(
        (each) => each.type === "model.called" && each.data.worker_id === worker && each.data.node_id === on,
      );
      if (worker === who && times === 0 && turns.length > 1)
        problems.push(`TEAM-6: ${worker} thought twice after ${node_id} had ended and was not told`);
    }
  }
  for (const node of Object.values(now.board.nodes)) {
    const parent = node.spec.parent_node_id ? now.board.nodes[node.spec.parent_node_id] : undefined;
    // What was reopened had ended before, and told of what it had not heard: now it has heard it.
    // And one that had failed and was cancelled has ended twice.
    if (parent?.reopened || node.reopened || parent?.status === "cancelled" || hasEndedTwice(node, facts)) continue;
    if (!parent || !("ended_seq" in node) || !("ended_seq" in parent) || node.ended_seq > parent.ended_seq) continue;
    const end = new RegExp(`^${parent.id} (completed by|failed:)`, "m");
    const below = new RegExp(
      `^(- ${node.id} (completed by|failed:|was cancelled by)|… \\d+ more, see check_board)`,
      "m",
    );
    const own = new RegExp(`^${node.id} (completed by|failed:|was cancelled by)`, "m");
    const wasTold = heard(parent.worker_id).some((entry) => own.test(entry.content));
    for (const worker of workersIn(conversations))
      for (const entry of heard(worker))
        if (end.test(entry.content) && below.test(entry.content) === wasTold)
          problems.push(
            `TEAM-6: ${node.id} ended below ${parent.id}, whose worker was ${wasTold ? "" : "not "}told; ${worker} was told of ${parent.id}, and ${wasTold ? "again" : "not"} of it`,
          );
  }
  for (const { data } of factsOf(facts, "suggestion.made")) {
    const times = heard(COORDINATOR).reduce(
      (sum, entry) => sum + entry.content.split(`suggests: ${data.suggestion}`).length - 1,
      0,
    );
    if (times > 1) problems.push(`TEAM-6: "${data.suggestion}" was told ${times} times`);
  }
  return problems;
}
