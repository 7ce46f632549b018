import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { NodeState } from "../../projections/index.ts";
import {
  type CallPart,
  callsOf,
  type Entry,
  type Outcome,
  type ResultEntry,
  type UserEntry,
} from "../../protocol/index.ts";
import { nodeDir, runDir, workerDir } from "../../store/paths.ts";
import type { Tools } from "../../tools/toolbox.ts";
import type { NodeWork } from "../node-work.ts";
import { projectFolder } from "../surroundings.ts";
import { CUT_OFF, isCutOff, type Transcript } from "./transcript.ts";

/** After a crash: calls without a result get one, and an ending that was not acted on is found. */
export async function recoverPast(
  history: readonly Entry[],
  tools: Tools,
  transcript: Transcript,
  signal: AbortSignal,
): Promise<{ ending: Outcome | undefined; recovered: ResultEntry[] }> {
  const results = history.filter((entry) => entry.role === "tool");
  const answered = new Set(results.map((result) => result.call_id));
  const recovered: ResultEntry[] = [];
  let ending = endingIn(history);
  for (const call of history.flatMap((entry) => (entry.role === "assistant" ? callsOf(entry) : []))) {
    if (answered.has(call.id)) continue;
    const isOurs = tools.specs.some(({ name }) => name === call.name);
    const result = isOurs ? await tools.recover(call, signal) : cutOff(call);
    await transcript.result(result);
    ending ??= result.ending;
    recovered.push(result);
  }
  return { ending, recovered };
}

/** What became of its calls of these tools, if it may not have heard it: it may have exited before the answer came. */
export function unheardResults(history: readonly Entry[], { specs }: Pick<Tools, "specs">): string[] {
  return unheard(history)
    .filter((entry) => entry.role === "tool")
    .flatMap((result) => {
      const { tool, content } = result;
      if (specs.some(({ name }) => name === tool)) return `Your call of ${tool}: ${content.slice(0, LONGEST_AGAIN)}`;
      return isCutOff(result) ? cutOffText(history, result) : [];
    });
}

/** A program may not keep a call before it has a result, and then would make it again. */
function cutOffText(history: readonly Entry[], { call_id, tool }: ResultEntry): string {
  const calls = history.flatMap((entry) => (entry.role === "assistant" ? callsOf(entry) : []));
  const args = JSON.stringify(calls.find(({ id }) => id === call_id)?.args ?? {});
  return `You were interrupted while this ran: ${tool} ${args.slice(0, LONGEST_AGAIN)}. Nobody knows how far it came: look at what it has done before you do it again.`;
}

/** It can call again for the rest. */
const LONGEST_AGAIN = 2000;

/** Only after the last words said to it: those begin another try. */
function endingIn(history: readonly Entry[]): Outcome | undefined {
  const said = history.findLastIndex((entry) => entry.role === "user");
  return history
    .slice(said + 1)
    .filter((entry) => entry.role === "tool")
    .find((result) => result.ending)?.ending;
}

function cutOff(call: CallPart): ResultEntry {
  return { role: "tool", call_id: call.id, tool: call.name, ok: false, content: CUT_OFF };
}

/**
 * What it may not have heard. The reply that follows may have been under way already; the one after that was made by a
 * model call that had it.
 */
function unheard(history: readonly Entry[]): readonly Entry[] {
  const replies = history.flatMap((entry, at) => (entry.role === "assistant" ? [{ at, entry }] : []));
  const told = replies.filter(({ entry: { usage } }) => usage.input + usage.output > 0);
  const at = (told.length > 0 ? told : replies).at(-2)?.at ?? -1;
  return history.slice(at + 1);
}

function unanswered(history: readonly Entry[]): UserEntry[] {
  return unheard(history)
    .filter((entry) => entry.role === "user")
    .filter(({ content }) => !content.startsWith(RESUMED));
}

/** What the record says: the rest of the words is in it already. */
export const RESUMED = "You were interrupted and are now taken up again. Your files are as you left them.";

/** The words with which a session is resumed; `told` is what became of calls that were cut off. */
export function resumeText(history: readonly Entry[], told: readonly string[]): string {
  const again = unanswered(history).map(({ content }) => content);
  const heard = again.length > 0 ? ["Said to you last, in case you did not hear it:", ...again] : [];
  return [RESUMED, ...told, ...heard, "Go on where you were."].join("\n\n");
}

/** The words if the old session cannot be resumed, or never began: all it needs to go on. */
export function newSessionText(node: NodeState, history: readonly Entry[], told: readonly string[]): string {
  const before = "This was begun before, and its session is lost: what was done so far is in your current folder.";
  // It does not know any more what it was told in the lost session.
  const last = saidLast(history);
  const mail = history
    .filter((entry) => entry.role === "user")
    .filter((entry) => entry.messages && !last.includes(entry))
    .slice(-MOST_MAIL);
  const said = [...mail, ...last].map(({ content }) => content);
  return [RESUMED, node.spec.task, before, ...told, ...said].join("\n\n");
}

const MOST_MAIL = 30;

/** What was said to it last, beside the task or the goal itself, and may not have been heard. */
export function saidLast(history: readonly Entry[]): UserEntry[] {
  return unanswered(history).filter((entry) => entry.node_id === undefined && entry.run_id === undefined);
}

/**
 * What of the user's project a program sees, and what it does not. It works in a folder of its own, so it would not find
 * by itself what the project says to agents.
 */
export async function projectLine(project: string, omitted: readonly string[] = []): Promise<string> {
  const seen = "Names that begin with a dot are left out, and what changes there while you run may not be seen.";
  return [`- To read: the user's own files, ${project}.`, ...(await whatIsAsked(project)), seen, ...omitted].join(" ");
}

/** A program finds the one of these files that it knows, and it may be another that is there. */
async function whatIsAsked(folder: string): Promise<string[]> {
  const isThere = await Promise.all(FOR_AGENTS.map((name) => isFile(join(folder, name))));
  const files = FOR_AGENTS.filter((_, at) => isThere[at]).map((name) => join(folder, name));
  return files.length > 0 ? [`What the project asks of agents is in ${files.join(" and ")}: read it first.`] : [];
}

const FOR_AGENTS = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

async function isFile(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null);
  return stats?.isFile() === true;
}

/** Where things are, by their full paths: a program does not know the short names of a scope. */
export async function filesText({ node, self, scope, workplace }: NodeWork): Promise<string> {
  const { log, now } = workplace;
  const { run_id } = node.spec;
  const workerFolder = workerDir(log.dir, run_id, self.worker_id);
  const { project } = now().agent.created;
  const scratch = join(nodeDir(log.dir, run_id, node.id), "scratch");
  const own =
    projectFolder(scope) === "repo"
      ? [
          [
            `- Your current folder, ${scope.cwd}: your own clone of the repository, for ${node.id}. git works there, without a network.`,
            ...(await whatIsAsked(scope.cwd)),
            "publish commits what you changed (your own commits stay), merges it into the team's branch and runs the checks on the result.",
          ].join(" "),
          `- ${scratch}: results that are not part of the repository.`,
        ]
      : [
          `- Your current folder, ${scope.cwd}: the scratch folder of ${node.id}. Put your work there, and nothing that others should not see: publishing makes it read-only for all.`,
        ];
  const lines = [
    ...own,
    `- ${join(workerFolder, "notebook.md")} and ${join(workerFolder, "memory.md")}: yours, kept from node to node.`,
    `- To read: ${join(nodeDir(log.dir, run_id, node.id), "_spec.md")}, and what others published, ${join(runDir(log.dir, run_id), "nodes", "NODE", "published")}.`,
    ...(project === null || projectFolder(scope) === "repo"
      ? []
      : [await projectLine(project, (await scope.binds()).omitted)]),
    "- Everything else is out of reach.",
  ];
  return `# Your files\n\n${lines.join("\n")}`;
}
