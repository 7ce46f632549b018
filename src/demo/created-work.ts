import { type Conversation, madeTo } from "./conversation.ts";
import { listFiles, type PlannedCall, readFile } from "./move.ts";
import { createdNode, type Ending, endingsIn, isUnknownOutcome, readListing, readText } from "./tool-text.ts";

/** The state of a piece of work that the coordinator wants on the board. */
export type Fate =
  | { kind: "unmade" }
  /** A crash left it open whether the node was made; these calls tell. */
  | { kind: "unclear"; calls: PlannedCall[] }
  | { kind: "refused"; why: string }
  | { kind: "made"; id: string; ending: Ending | undefined };

const TRIES = 3;

/** Work is recognised by the text of its task: after a restart the same work is requested in the same words. */
export function fateOf(task: string, conversation: Conversation): Fate {
  const tries = madeTo("create_work_node", conversation).filter(({ args }) => args.task === task);
  const last = tries.at(-1);
  if (!last) return { kind: "unmade" };
  const id = createdNode(last.result.content);
  if (id) return { kind: "made", id, ending: endingOf(id, last.at, conversation) };
  if (!isUnknownOutcome(last.result.content)) return { kind: "refused", why: last.result.content };
  const after = { ...conversation, exchanges: conversation.exchanges.filter(({ at }) => at > last.at) };
  const found = lookOnTheBoard(task, after, knownNodes(conversation));
  if (found.kind === "calls") return { kind: "unclear", calls: found.calls };
  if (found.kind === "node") return { kind: "made", id: found.id, ending: endingOf(found.id, last.at, conversation) };
  return tries.length < TRIES ? { kind: "unmade" } : { kind: "refused", why: last.result.content };
}

type FoundWork = { kind: "calls"; calls: PlannedCall[] } | { kind: "node"; id: string } | { kind: "none" };

/** A node's `_spec.md` holds its task word for word. */
function lookOnTheBoard(task: string, after: Conversation, known: ReadonlySet<string>): FoundWork {
  const board = madeTo("list_files", after).find(({ args }) => args.path === "nodes");
  if (!board) return { kind: "calls", calls: [listFiles("nodes", false)] };
  const folders = readListing(board.result.content).entries.map(({ path }) => path.slice("nodes/".length));
  const strange = folders.filter((id) => /^node-\d+$/.test(id) && !known.has(id));
  const specs = new Map(madeTo("read_file", after).map(({ args, result }) => [args.path, result]));
  const unread = strange.map((id) => `nodes/${id}/_spec.md`).filter((path) => !specs.has(path));
  if (unread.length > 0) return { kind: "calls", calls: unread.map((path) => readFile(path)) };
  const id = strange.find((id) => readText(specs.get(`nodes/${id}/_spec.md`)?.content ?? "").text.includes(task));
  return id ? { kind: "node", id } : { kind: "none" };
}

function knownNodes(conversation: Conversation): Set<string> {
  return new Set(madeTo("create_work_node", conversation).flatMap(({ result }) => createdNode(result.content) ?? []));
}

function endingOf(id: string, since: number, { heard }: Conversation): Ending | undefined {
  let ending: Ending | undefined;
  for (const { content, at } of heard) {
    const told = endingsIn(content).get(id);
    // The board tells less than the news did.
    if (told && told.kind !== ending?.kind) ending = told;
    // Nobody works and we were not told: the report will show whether there is one.
    if (at > since && content.includes("nothing is under way")) ending ??= { kind: "completed", files: [] };
  }
  return ending;
}
