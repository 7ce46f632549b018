import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { apply, begin, type Situation } from "../../src/projections/index.ts";
import {
  COORDINATOR,
  callsOf,
  type Fact,
  type FactOf,
  isMadeByTrigger,
  type NodeId,
  type StoredEntry,
} from "../../src/protocol/index.ts";
import { nodeDir } from "../../src/store/paths.ts";
import { mailProblems } from "./mail-invariants.ts";
import { nodeProblems } from "./node-invariants.ts";
import { personProblems } from "./person-invariants.ts";
import type { History } from "./simulate.ts";
import { triggerProblems } from "./trigger-invariants.ts";

/** Everything that is wrong with a history, each with the number of the invariant it breaks (see teams.test.ts). */
export function problemsOf(history: History): string[] {
  return [
    ...history.problems,
    ...logProblems(history),
    ...nodeProblems(history),
    ...publishProblems(history),
    ...mailProblems(history),
    ...callProblems(history),
    ...effectProblems(history),
    ...spendingProblems(history),
    ...personProblems(history),
    ...triggerProblems(history),
  ];
}

/** Runs that began with what the human said: not those that a trigger began, nor a resume with the goal as it was. */
export function runsBegunByWords(facts: readonly Fact[]): FactOf<"run.started">[] {
  return factsOf(facts, "run.started").filter(({ seq, data }) => {
    const started = facts[seq - 2];
    return data.trigger === undefined && started?.type === "agent.started" && started.data.why === "new_goal";
  });
}

export function factsOf<T extends Fact["type"]>(facts: readonly Fact[], type: T): FactOf<T>[] {
  return facts.filter((fact): fact is FactOf<T> => fact.type === type);
}

/** TEAM-1. */
function logProblems({ facts, told, now }: History): string[] {
  const problems: string[] = [];
  for (const [at, fact] of facts.entries()) {
    if (fact.seq !== at + 1) problems.push(`TEAM-1: fact ${at + 1} has the number ${fact.seq}`);
  }
  for (const [seq, text] of told) {
    const kept = facts[seq - 1];
    if (kept === undefined || JSON.stringify(kept) !== text)
      problems.push(`TEAM-1: fact ${seq} was acknowledged as ${text}`);
  }
  const [first, ...rest] = facts;
  const fold: Situation | undefined = first && begin(first);
  for (const fact of rest) if (fold) apply(fold, fact);
  if (JSON.stringify(fold) !== JSON.stringify(now)) problems.push("TEAM-1: snapshot and facts fold to something else");
  return problems;
}

/** TEAM-5. */
function publishProblems({ facts, now, agentDir }: History): string[] {
  const problems: string[] = [];
  const intents = new Map(factsOf(facts, "node.published").map((fact) => [fact.data.node_id, fact.data]));
  for (const node of Object.values(now.board.nodes)) {
    const dir = join(nodeDir(agentDir, node.spec.run_id, node.id), "published");
    const intent = intents.get(node.id);
    if (node.status === "completed") {
      if (!intent) problems.push(`TEAM-5: ${node.id} is completed and never published`);
      else if (intent.summary !== node.summary)
        problems.push(`TEAM-5: ${node.id} published "${intent.summary}" and completed as "${node.summary}"`);
      const paths = node.files.map((file) => file.path);
      for (const wanted of node.spec.deliverables)
        if (!paths.includes(wanted)) problems.push(`TEAM-5: ${node.id} is completed without ${wanted}`);
    }
    const ended = node.status === "completed" || node.status === "failed";
    if (ended) problems.push(...manifestProblems(node.id, dir, intent?.files ?? []));
  }
  return problems;
}

function manifestProblems(id: NodeId, dir: string, files: readonly { path: string; sha256: string }[]): string[] {
  const problems: string[] = [];
  const there = filesIn(dir).sort();
  const wanted = files.map((file) => file.path).sort();
  if (there.join() !== wanted.join())
    problems.push(`TEAM-5: ${id}/published holds [${there}], its manifest [${wanted}]`);
  for (const { path, sha256 } of files.filter((file) => there.includes(file.path))) {
    const found = createHash("sha256")
      .update(readFileSync(join(dir, path)))
      .digest("hex");
    if (found !== sha256) problems.push(`TEAM-5: ${id}/published/${path} is not what was published`);
    if ((statSync(join(dir, path)).mode & 0o222) !== 0) problems.push(`TEAM-5: ${id}/published/${path} can be written`);
  }
  return problems;
}

function filesIn(dir: string, under = ""): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? filesIn(join(dir, entry.name), `${under}${entry.name}/`) : `${under}${entry.name}`,
    );
  } catch {
    return [];
  }
}

/** TEAM-7. */
function callProblems({ facts, conversations, now }: History): string[] {
  const cutShort = endedFromOutside(facts);
  // People had enough while it was paused or stopped, or had failed: whoever was interrupted may have a call open.
  const left = ["paused", "stopped", "failed"].includes(now.agent.status);
  return conversations.flatMap(({ worker, entries }) => {
    const problems = entries.flatMap((entry, at) =>
      entry.seq === at + 1 ? [] : [`TEAM-7: entry ${at + 1} of ${worker} has the number ${entry.seq}`],
    );
    return [...problems, ...partsOf(entries).flatMap((part) => answerProblems(worker, part, cutShort, left))];
  });
}

/** What was said about each node: one that was reopened goes on after what its worker did meanwhile. */
function partsOf(entries: readonly StoredEntry[]): StoredEntry[][] {
  const parts = new Map<string, StoredEntry[]>();
  let work = "";
  for (const entry of entries) {
    if (entry.role === "user" || entry.role === "system") work = entry.node_id ?? work;
    // The prompt of what comes next stands among the words of what was before.
    if (entry.role === "system") continue;
    parts.set(work, [...(parts.get(work) ?? []), entry]);
  }
  return [...parts.values()];
}

function answerProblems(
  worker: string,
  entries: readonly StoredEntry[],
  cutShort: ReadonlySet<string>,
  left: boolean,
): string[] {
  const problems: string[] = [];
  const work = entries.find((entry) => entry.role === "user")?.node_id ?? "";
  for (const [at, entry] of entries.entries()) {
    if (entry.role !== "assistant") continue;
    const calls = callsOf(entry).map((call) => call.id);
    const results = resultsAfter(entries, at);
    const isLast = !entries.slice(at + 1).some((later) => later.role === "assistant" && sameWork(entries, at, later));
    const answered = calls.join() === results.join();
    const cut = isLast && (left || cutShort.has(work)) && calls.join().startsWith(results.join());
    if (!answered && !cut) problems.push(`TEAM-7: ${worker} called [${calls}] and was answered [${results}]`);
  }
  return problems;
}

function resultsAfter(entries: readonly StoredEntry[], at: number): string[] {
  const results: string[] = [];
  for (const entry of entries.slice(at + 1)) {
    if (entry.role !== "tool") break;
    results.push(entry.call_id);
  }
  return results;
}

function sameWork(entries: readonly StoredEntry[], at: number, later: StoredEntry): boolean {
  return !entries.slice(at + 1, entries.indexOf(later)).some((entry) => entry.role === "user" && entry.node_id);
}

/** Nodes whose worker was interrupted for good: out of time, out of money, or the run was over. */
function endedFromOutside(facts: readonly Fact[]): Set<string> {
  const failed = factsOf(facts, "node.failed").filter(({ data: { outcome } }) =>
    ["stopped", "abandoned", "budget_exhausted"].includes(outcome.kind),
  );
  return new Set([...failed, ...factsOf(facts, "node.cancelled")].map((fact) => fact.data.node_id));
}

/** TEAM-8. Whatever a call is to bring about says by which call it was brought about; so nothing may be there twice. */
function effectProblems({ facts, conversations }: History): string[] {
  const made = {
    node: factsOf(facts, "node.created").map((fact) => fact.data.task),
    message: factsOf(facts, "message.sent").flatMap(({ data }) => (isMadeByTrigger(data.message_id) ? [] : data.text)),
    suggestion: factsOf(facts, "suggestion.made").map((fact) => fact.data.suggestion),
    worker: factsOf(facts, "worker.spawned").map(({ data }) => `${data.worker_id} of ${data.run_id}`),
    message_id: factsOf(facts, "message.sent").map((fact) => fact.data.message_id),
  };
  const problems = Object.entries(made).flatMap(([what, list]) =>
    list.filter((each, at) => list.indexOf(each) !== at).map((each) => `TEAM-8: the ${what} "${each}" was made twice`),
  );
  // And what was answered "made" was made.
  const replies = conversations.flatMap(({ entries }) => entries.filter((entry) => entry.role === "tool"));
  const created = replies
    .filter((entry) => entry.tool === "create_work_node" && entry.ok)
    .map((entry) => entry.content);
  const ids = new Set(factsOf(facts, "node.created").map((fact) => fact.data.node_id as string));
  for (const words of created) {
    const id = /^Created (node-\d+)/.exec(words)?.[1] ?? words;
    if (!ids.has(id)) problems.push(`TEAM-8: ${id} was created and is nowhere`);
  }
  return problems;
}

/** TEAM-10. */
function spendingProblems({ facts, now, plan }: History): string[] {
  const problems: string[] = [];
  const replies = factsOf(facts, "model.responded");
  const sum = (list: typeof replies) => list.reduce((total, fact) => total + (fact.data.cost_usd ?? 0), 0);
  const same = (a: number, b: number) => Math.abs(a - b) < 1e-9;
  const total = sum(replies);
  if (!same(total, now.spending.total.cost_usd))
    problems.push(`TEAM-10: spent ${total}, told ${now.spending.total.cost_usd}`);
  const workers = Object.values(now.spending.by_worker).reduce((all, tally) => all + tally.cost_usd, 0);
  if (!same(total, workers)) problems.push(`TEAM-10: spent ${total}, by all workers ${workers}`);
  for (const node of Object.values(now.board.nodes)) {
    const below = familyOf(node.id, now);
    const own = sum(replies.filter((fact) => fact.data.node_id && below.has(fact.data.node_id)));
    if (!same(own, node.spent_usd)) problems.push(`TEAM-10: ${node.id} spent ${own}, told ${node.spent_usd}`);
  }
  problems.push(...overdrafts(facts, plan.budget_usd));
  const dearest = Math.max(0, ...replies.map((fact) => fact.data.cost_usd ?? 0));
  for (const { id, spec, spent_usd } of Object.values(now.board.nodes))
    if (spec.budget_usd !== undefined && spent_usd > spec.budget_usd + dearest + 1e-9)
      problems.push(`TEAM-10: ${id} spent ${spent_usd} of its share of ${spec.budget_usd}, a call at most ${dearest}`);
  let turns = 0;
  for (const fact of facts) {
    if (fact.type === "agent.started") turns = 0;
    if (
      fact.type === "model.responded" &&
      fact.data.worker_id === COORDINATOR &&
      ++turns > (plan.config.max_turns ?? 0)
    )
      problems.push(`TEAM-10: fact ${fact.seq}: the coordinator takes its turn ${turns} since it was started`);
  }
  return problems;
}

/** At no time more than the budget and one call. */
function overdrafts(facts: readonly Fact[], first: number | undefined): string[] {
  let budget = first ?? Number.POSITIVE_INFINITY;
  let spent = 0;
  let dearest = 0;
  for (const fact of facts) {
    if (fact.type === "budget.set" && fact.data.budget_usd !== undefined)
      budget = fact.data.budget_usd ?? Number.POSITIVE_INFINITY;
    if (fact.type !== "model.responded" || fact.data.cost_usd === null) continue;
    spent += fact.data.cost_usd;
    dearest = Math.max(dearest, fact.data.cost_usd);
    if (spent > budget + dearest + 1e-9)
      return [`TEAM-10: fact ${fact.seq}: spent ${spent} of ${budget}, a call at most ${dearest}`];
  }
  return [];
}

function familyOf(id: NodeId, now: Situation): Set<NodeId> {
  const family = new Set<NodeId>([id]);
  for (const member of family) for (const child of now.board.nodes[member]?.children ?? []) family.add(child);
  return family;
}
