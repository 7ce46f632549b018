import {
  type Board,
  currentStage,
  describeBoard,
  describeRoster,
  hasEnded,
  isStageDone,
  type NodeState,
  rosterOf,
  type Situation,
  stageTitle,
} from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type RunId, type WorkerId } from "../../protocol/index.ts";
import { specText } from "../../store/run/node-folder.ts";
import type { ListedFile, Scope } from "../../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../../store/scope/scope-refusal.ts";
import type { SummarySection } from "./summary.ts";

/** How things stand for the coordinator: a reading of the record and of its files. */
export async function restateForCoordinator(
  run: { id: RunId; goal: string },
  scope: Scope,
  now: Situation,
  untoldFrom: number,
  { today, commands = "", memory }: { today: string; commands?: string; memory: string },
): Promise<SummarySection[]> {
  const own = (await filesAt(scope, "")).filter(({ path }) => !/^(nodes|workers|_messages|agent|project)$/.test(path));
  const inFolders = own.map(async (each) => (each.kind === "folder" ? filesAt(scope, each.path, true) : [each]));
  const files = (await Promise.all(inFolders)).flat();
  return [
    { title: "Now", text: [`It is ${today}.`, commands].filter(Boolean).join("\n") },
    { title: `Your goal (${run.id})`, text: run.goal },
    { title: "Between you and your human", text: dialogue(COORDINATOR, now, untoldFrom), keep: "end" },
    { title: "The stage", text: stageWords(run.id, now) },
    { title: "The board: what is still open", text: boardOf(run.id, now, (node) => !hasEnded(node)) },
    { title: "The board: what has ended", text: endedOn(run.id, now) },
    { title: "The people", text: describeRoster(rosterOf(now.roster, run.id), MOST_PEOPLE) },
    { title: "Open questions to your human", text: openQuestions(now) },
    { title: "Insights that wait for your decision", text: openInsights(now, untoldFrom) },
    { title: "Messages you sent that nobody has read yet", text: unread(COORDINATOR, now) },
    { title: "Your files in this run", text: await fileLines(scope, files) },
    { title: "What your team published", text: publishedLines(run.id, now.board) },
    { title: "Your memory as it is now", text: memory },
  ];
}

/** How things stand for a worker on its node. */
export async function restateForWorker(
  node: NodeState,
  worker: WorkerId,
  scope: Scope,
  now: Situation,
  untoldFrom: number,
): Promise<SummarySection[]> {
  const children = new Set(now.board.nodes[node.id]?.children ?? []);
  const { [worker]: _, ...colleagues } = rosterOf(now.roster, node.spec.run_id);
  return [
    { title: `Your assignment (${node.id})`, text: specText(node.spec, now.repository ? "repository" : "scratch") },
    { title: "What it builds on (read_ref)", text: refLines(node) },
    { title: "Between you and your human", text: dialogue(worker, now, untoldFrom), keep: "end" },
    { title: "The parts you handed out", text: boardOf(node.spec.run_id, now, ({ id }) => children.has(id)) },
    { title: "Your colleagues", text: describeRoster(colleagues, MOST_PEOPLE) },
    { title: "Messages you sent that nobody has read yet", text: unread(worker, now) },
    { title: "Your files", text: await fileLines(scope, await filesAt(scope, "scratch", true)) },
    { title: "Your notebook (notebook.md)", text: await beginningOf(scope, "notebook.md", LONGEST_NOTES) },
    { title: "Your memory (memory.md)", text: await beginningOf(scope, "memory.md", LONGEST_NOTES) },
  ];
}

function refLines({ spec }: NodeState): string {
  return Object.entries(spec.refs)
    .map(([name, target]) => `- ${name}: nodes/${target}`)
    .join("\n");
}

const MOST_UTTERANCES = 20;
const MOST_PEOPLE = 60;

/** What is still to be told comes by mail, and is not told twice. */
function dialogue(who: WorkerId, { thread }: Situation, untoldFrom: number): string {
  return thread
    .filter(({ from, to, seq }) => {
      const isHeard = from === HUMAN && (to === who || to === "*") && seq < untoldFrom;
      return isHeard || (from === who && to === HUMAN);
    })
    .slice(-MOST_UTTERANCES)
    .map(({ from, text }) => `- ${from === HUMAN ? "Your human" : "You"}: ${text}`)
    .join("\n");
}

function stageWords(run: RunId, now: Situation): string {
  const stage = currentStage(now.stages, run);
  if (!stage) return "";
  const done = isStageDone(stage, now.board) ? " It is done: reconvene, create more work, or finish." : "";
  return `${stageTitle(stage)} is under way.${done}`;
}

function boardOf(run: RunId, { board }: Situation, isShown: (node: NodeState) => boolean): string {
  const nodes = Object.values(board.nodes).filter((node) => node.spec.run_id === run && isShown(node));
  if (nodes.length === 0) return "";
  return describeBoard({ nodes: Object.fromEntries(nodes.map((node) => [node.id, node])) });
}

/** The latest first: if there is no room, the oldest are left out. */
function endedOn(run: RunId, { board }: Situation): string {
  const ended = Object.values(board.nodes).filter(hasEnded);
  const ofRun = ended.filter(({ spec }) => spec.run_id === run).sort((a, b) => b.ended_seq - a.ended_seq);
  if (ofRun.length === 0) return "";
  return describeBoard({ nodes: Object.fromEntries(ofRun.map((node) => [node.id, node])) });
}

function openQuestions({ questions }: Situation): string {
  return Object.values(questions.open)
    .map(({ id, worker_id, text }) => `- ${id}, asked by ${worker_id}: ${text}`)
    .join("\n");
}

/** What is still to be told comes by mail, and is not told twice. */
function openInsights({ insights }: Situation, untoldFrom: number): string {
  return Object.values(insights.open)
    .filter(({ seq }) => seq < untoldFrom)
    .map(
      ({ id, worker_id, title, content }) => `- ${id} from ${worker_id}: ${title}\n  ${content.replace(/\s+/g, " ")}`,
    )
    .join("\n");
}

function unread(from: WorkerId, { letters }: Situation): string {
  return Object.values(letters.queued)
    .filter((letter) => letter.from === from)
    .map(({ to, text }) => `- to ${to}: ${text}`)
    .join("\n");
}

const MOST_FILES = 200;
const LONGEST_LINE = 120;
const LONGEST_NOTES = 16 * 1024;

function publishedLines(run: RunId, { nodes }: Board): string {
  return Object.values(nodes)
    .filter(({ spec }) => spec.run_id === run)
    .flatMap((node) =>
      "files" in node
        ? node.files.map(({ path, bytes }) => `- nodes/${node.id}/published/${path} (${bytes} bytes)`)
        : [],
    )
    .slice(-MOST_FILES)
    .reverse()
    .join("\n");
}

async function filesAt(scope: Scope, path: string, recursive = false): Promise<ListedFile[]> {
  try {
    const { entries } = await scope.list(path, { recursive, limit: MOST_FILES });
    return recursive ? entries.filter(({ kind }) => kind === "file") : entries;
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound) return [];
    throw error;
  }
}

/** Each file with how it begins: enough to know what has been done. */
async function fileLines(scope: Scope, files: readonly ListedFile[]): Promise<string> {
  const lines = files.slice(0, MOST_FILES).map(async ({ path }) => {
    const file = await readStart(scope, path, 4 * LONGEST_LINE);
    if (!file) return [];
    const first = file.text.split("\n").find((line) => line.trim() !== "") ?? "(empty)";
    return `- ${path} (${file.size} bytes): ${first.slice(0, LONGEST_LINE).toWellFormed()}`;
  });
  const more = files.length > MOST_FILES ? [`- and ${files.length - MOST_FILES} more: list_files shows them`] : [];
  return [...(await Promise.all(lines)).flat(), ...more].join("\n");
}

async function beginningOf(scope: Scope, path: string, bytes: number): Promise<string> {
  return (await readStart(scope, path, bytes))?.text ?? "";
}

async function readStart(scope: Scope, path: string, maxBytes: number) {
  try {
    const { bytes, size } = await scope.readFile(path, { maxBytes });
    return { text: bytes.includes(0) ? "(not text)" : bytes.toString("utf8"), size };
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound) return undefined;
    throw error;
  }
}
