import { join } from "node:path";
import type { NodeState, WorkerState } from "../projections/index.ts";
import { HUMAN, type NewFact, type Outcome } from "../protocol/index.ts";
import { cloneDir, conversationFile, nodeDir } from "../store/paths.ts";
import { workerScope } from "../store/scope/team-scopes.ts";
import { QuestionAsker, type QuestionPorts } from "./loop/question-asker.ts";
import { gistOfText, outcomeOf } from "./loop/recorded-loop.ts";
import { publisher } from "./publishing.ts";
import type { Colleagues, Workplace } from "./workplace.ts";

export const DONE = "done";
const GIVE_BACK = "give it back";
const CHOICES = [DONE, GIVE_BACK];

/** The call id under which a node is put before the human: after a crash it leads to the question that was asked. */
export function nodeQuestionId(node_id: string): string {
  return `yours-${node_id}`;
}

/**
 * A person works on a node: it is put before them as a question, by every way they can be reached, and costs nothing
 * until they answer. "done", or a summary in their own words, publishes what is in its folder.
 */
export async function workByHuman(
  node: NodeState,
  worker: WorkerState,
  _team: Colleagues,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, now } = workplace;
  const { run_id } = node.spec;
  const self = { worker_id: HUMAN, node_id: node.id, conversation: conversationFile(run_id, HUMAN) };
  const { project } = now().agent.created;
  const hasClone = workplace.repository !== undefined;
  const scope = workerScope({ agentDir: log.dir, runId: run_id, nodeId: node.id, workerId: HUMAN, project, hasClone });
  const port = publisher({ node, worker, scope, workplace, signal });
  const questions = new QuestionAsker(self, workplace);
  let question = wordsFor(node, workplace);
  try {
    for (;;) {
      const id = await questions.put({ question, choices: CHOICES }, { id: nodeQuestionId(node.id) }, [
        waitingOn(node),
      ]);
      const answer = (await questions.answerTo(id, signal))?.answer?.text.trim() ?? GIVE_BACK;
      if (answer === GIVE_BACK) return { kind: "abandoned", error: "Your human gave it back." };
      const summary = answer.toLowerCase() === DONE ? "Done by your human." : answer;
      const published = await port.publish(summary, "", "must have ended");
      if (published.ok) return { kind: "published", summary };
      // The answer is settled: what is put next is another question.
      const settled = {
        call_id: nodeQuestionId(node.id),
        tool: "publish",
        ok: false,
        ms: 0,
        gist: gistOfText(published.reason),
      };
      await log.append({ facts: [{ type: "tool.result", data: { worker_id: HUMAN, node_id: node.id, ...settled } }] })
        .durable;
      question = `${node.id} is not published: ${published.reason}\n\n${wordsFor(node, workplace)}`;
    }
  } catch (error) {
    return outcomeOf(error, signal);
  }
}

/** Puts a node before the human while the agent rests: the next start finds the question, and its answer. */
export async function askHumanToWork(node: NodeState, workplace: QuestionPorts): Promise<void> {
  const self = { worker_id: HUMAN, node_id: node.id, conversation: conversationFile(node.spec.run_id, HUMAN) };
  const order = { question: wordsFor(node, workplace), choices: CHOICES };
  await new QuestionAsker(self, workplace).put(order, { id: nodeQuestionId(node.id) }, [waitingOn(node)]);
}

function waitingOn({ id }: NodeState): NewFact {
  return { type: "worker.waiting", data: { worker_id: HUMAN, node_id: id, for: "human" } };
}

function wordsFor({ id, spec, handed }: NodeState, { log, now }: Pick<Workplace, "log" | "now">): string {
  const folder = join(nodeDir(log.dir, spec.run_id, id), "scratch");
  const clone = cloneDir(log.dir, spec.run_id, id);
  const how = now().agent.created.write
    ? `Change the repository in ${clone}: a clone of its own, which begins at the team's branch. Results that are not part of it go into ${folder}. Then say done, or what you did in a few words: your changes are committed, merged into the branch and checked there.`
    : `Put the files into ${folder}, then say done, or what you did in a few words. It is then published for the others.`;
  const files = spec.deliverables.length > 0 ? `\n\nIt needs: ${spec.deliverables.join(", ")}.` : "";
  const from = handed && (now().roster[handed.from]?.spawned.name ?? handed.from);
  const before = handed ? `\n\n${from} had it before you. ${handed.did}` : "";
  return `${id} is yours: ${spec.task}${files}${before}\n\n${how}`;
}
