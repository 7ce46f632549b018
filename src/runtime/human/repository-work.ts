import { isAbsolute } from "node:path";
import { didYouMean } from "../../boundary/nearest.ts";
import { hasEnded, type NodeState, type RepositoryState, type Situation } from "../../projections/index.ts";
import { COORDINATOR, type FactOf, HUMAN, type NewFact, type NodeId, type RunId } from "../../protocol/index.ts";
import {
  type Delivered,
  deliverBranch,
  inspectRepository,
  mergeIntoCheckedOut,
  noSuchRef,
  openPullRequest,
  type PersonRepository,
} from "../../repository/index.ts";
import type { TeamRepository } from "../repository/team-repository.ts";
import type { PendingLog } from "../state/pending-log.ts";
import type { Team } from "../team/team.ts";
import { checkNotArchived, HumanRefusal } from "./human-facts.ts";
import type { HumanVoice } from "./human-voice.ts";
import { nodeOf } from "./human-work.ts";
import {
  answerGoal,
  answerTask,
  commentMail,
  noRepository,
  nothingInCommon,
  rejectedWords,
  restoredName,
  takeInWords,
  taskWithComment,
} from "./review-words.ts";

interface RepositoryWorkPorts {
  log: Pick<PendingLog, "append">;
  pending(): Situation;
  repository: TeamRepository | undefined;
  voice: Pick<HumanVoice, "send">;
  team(run: RunId): Team;
  openNextRun(trigger: string, first: (run: RunId) => { goal: string; facts: NewFact[] }): Promise<boolean>;
  goOn(): Promise<string>;
}

export interface Acceptance {
  how: "branch" | "merge" | "pr";
  title?: string | undefined;
  remote?: string | undefined;
  /** Where the person's repository is now, if it was moved. */
  into?: string | undefined;
}

export interface Comment {
  path: string;
  line: number;
  side: "old" | "new";
  text: string;
}

type GivenComment = FactOf<"review.commented">["data"];

/**
 * What a person does with the work on their repository: takes it, rejects it, comments on it, brings in what they have
 * committed meanwhile.
 *
 * REPOSITORY-WORK-1. What is delivered is on record after it is there; delivering it again changes nothing.
 * REPOSITORY-WORK-1a. At the end of a run it is delivered unasked where that was ordered (`--deliver branch`), before the
 *     end is on record; why it could not be is told to the person.
 * REPOSITORY-WORK-2. A comment reaches the worker who has the node. Where that has ended, its work goes on as a node that
 *     answers all comments on it; if nobody has begun with that, a further comment is added to its task.
 */
export class RepositoryWork {
  readonly #ports: RepositoryWorkPorts;

  constructor(ports: RepositoryWorkPorts) {
    this.#ports = ports;
  }

  async accept({ how, title, remote, into }: Acceptance): Promise<string> {
    const { log } = this.#ports;
    const repository = this.#repository();
    const { branch, tip, base, source } = repository.state;
    if (tip === base)
      throw new HumanRefusal("conflict", `${branch} has no changes yet, so there is nothing to accept.`);
    const person = await this.#person(repository, into ?? source);
    await repository.branch.syncGit();
    const { git, repository: agent } = repository;
    const order = {
      commit: tip,
      title: title ?? this.#title(),
      body: await this.#body(repository),
      ...(remote !== undefined && { remote }),
    };
    const delivered: Delivered & { url?: string } =
      how === "merge"
        ? await mergeIntoCheckedOut(person, agent, branch, tip, git)
        : how === "pr"
          ? await openPullRequest(person, agent, branch, order, git)
          : await deliverBranch(person, agent, branch, tip, git);
    if (!delivered.ok) throw new HumanRefusal("conflict", delivered.reason);
    const more = {
      ...(how === "merge" && person.branch !== null && { into: person.branch }),
      ...(delivered.url && { url: delivered.url }),
    };
    const data: FactOf<"branch.delivered">["data"] = { commit: delivered.commit, branch, how, ...more };
    await log.append({ facts: [{ type: "branch.delivered", data }] }).durable;
    return acceptedWords(data, person);
  }

  /** REPOSITORY-WORK-1a. Resolves with what the person has to be told, if anything. */
  async deliverUnasked(): Promise<string | null> {
    const { agent, repository } = this.#ports.pending();
    if (!repository || agent.created.write?.deliver !== "branch") return null;
    const { tip, base, branch, deliveries } = repository;
    if (tip === base || deliveries.at(-1)?.commit === tip) return null;
    try {
      await this.accept({ how: "branch" });
      return null;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return `The branch ${branch} could not be put into your repository. ${why}\n\nThe work is safe. To try again: agiraph accept ${this.#id}`;
    }
  }

  /** Takes a node's work out of the branch; the coordinator hears why. */
  async reject(node: string, reason: string): Promise<string> {
    const repository = this.#repository();
    const { id } = this.#node(node);
    const { ok, said } = await repository.revert(id, reason, HUMAN);
    if (!ok) throw new HumanRefusal("conflict", said);
    const heard = await this.#ports.voice.send(rejectedWords(id, reason), COORDINATOR);
    return `${said} ${heard}`;
  }

  async comment(node: string, comment: Comment): Promise<string> {
    const { log, pending } = this.#ports;
    const repository = this.#repository();
    const found = this.#node(node);
    const quote = await this.#quoted(repository, found.id, comment);
    const worker_id = "worker_id" in found ? found.worker_id : COORDINATOR;
    const given = { node_id: found.id, worker_id, comment_id: `comment-${pending().seq + 1}`, ...comment, quote };
    await log.append({ facts: [{ type: "review.commented", data: given }] }).durable;
    return this.#told(found.id, given);
  }

  /** Tells those who have the node now, or make it go on: while the comment was recorded, others may have come. */
  async #told(id: NodeId, comment: GivenComment): Promise<string> {
    const { pending, team, voice, goOn } = this.#ports;
    const found = this.#node(id);
    const open = hasEnded(found) ? this.#answering(id) : found;
    if (!open) return this.#answered(found, comment);
    if ("worker_id" in open) return voice.send(commentMail(id, [comment]), open.worker_id);
    const task = taskWithComment(open.spec.task, comment);
    const { run } = pending().agent;
    if (task !== open.spec.task && run?.id === open.spec.run_id && !run.finished)
      await team(run.id).update(open.id, { task }, HUMAN);
    return `${open.id} answers it: the comment is in its task.${await goOn()}`;
  }

  /** Takes in what the person has committed since. */
  async rebase(ref: string | undefined): Promise<string> {
    const repository = this.#repository();
    const { source, source_branch } = repository.state;
    const person = await this.#person(repository, source);
    const wanted = ref ?? source_branch ?? "HEAD";
    const upstream = await repository.fetch(person, wanted);
    if (upstream === undefined) throw new HumanRefusal("not_found", await noSuchRef(person, wanted, repository.git));
    const { result, branch } = await repository.takeIn(upstream);
    if (result.ok)
      return result.moved
        ? `${branch} now contains ${wanted} (${upstream.slice(0, 10)}).`
        : `${branch} already has ${wanted}.`;
    if (result.why === "conflict" && result.files.length === 0)
      throw new HumanRefusal("conflict", nothingInCommon(branch, wanted, this.#name));
    const heard = await this.#ports.voice.send(takeInWords(branch, upstream, result), COORDINATOR);
    return `${wanted} cannot be merged as it is: ${result.why === "conflict" ? `both changed ${result.files.join(", ")}` : "the checks do not pass with it"}. The team was asked to do it. ${heard}`;
  }

  /** Anything that was ever committed or saved, as a branch of the person's repository. */
  async restore(ref: string, into: string | undefined): Promise<string> {
    const repository = this.#repository();
    const commit = await repository.repository.commitOf(ref);
    if (commit === undefined)
      throw new HumanRefusal(
        "not_found",
        `${this.#name} has no commit "${ref}".${await this.#near(repository, ref)} List them: agiraph git log ${this.#id}`,
      );
    const person = await this.#person(repository, into ?? repository.state.source);
    const branch = restoredName(ref, commit);
    const done = await deliverBranch(person, repository.repository, branch, commit, repository.git);
    if (!done.ok) throw new HumanRefusal("conflict", done.reason);
    return `It is now the branch ${branch} of ${person.top}. To look at it: git log ${branch}`;
  }

  async #near({ repository, state }: TeamRepository, ref: string): Promise<string> {
    const { base, tip } = state;
    const [commits, saved] = await Promise.all([repository.commits(base, tip, MOST_NEAR), repository.snapshots()]);
    const length = Math.max(ref.length, SHORTEST_ID);
    return didYouMean(
      ref,
      [...commits, ...saved].map(({ commit }) => commit.slice(0, length)),
    );
  }

  /** In commands: a name may have spaces. */
  get #id(): string {
    return this.#ports.pending().agent.id;
  }

  get #name(): string {
    return this.#ports.pending().agent.created.name;
  }

  #repository(): TeamRepository {
    const { pending, repository } = this.#ports;
    checkNotArchived(pending());
    if (repository && pending().repository) return repository;
    throw new HumanRefusal("conflict", noRepository(pending().agent.created));
  }

  #node(word: string): NodeState {
    return nodeOf(this.#ports.pending(), word);
  }

  async #person({ git }: TeamRepository, folder: string): Promise<PersonRepository> {
    if (!isAbsolute(folder))
      throw new HumanRefusal("bad_request", `${folder} is not an absolute path. Begin it with /.`);
    const found = await inspectRepository(folder, git);
    if (found.ok) return found.repository;
    throw new HumanRefusal(
      "conflict",
      `${found.reason} If it was moved, name the folder where it is now: agiraph accept ${this.#id} --into FOLDER`,
    );
  }

  #title(): string {
    return (this.#ports.pending().agent.goal.split("\n", 1)[0] ?? "").slice(0, 100);
  }

  async #body({ repository, state }: TeamRepository): Promise<string> {
    const commits = await repository.commits(state.base, state.tip, 200);
    return [this.#ports.pending().agent.goal, ...commits.map(({ subject }) => `- ${subject}`)]
      .join("\n\n")
      .slice(0, 20_000);
  }

  /** The node that answers comments on this one and has not ended. */
  #answering(id: NodeId): NodeState | undefined {
    const { board } = this.#ports.pending();
    return Object.values(board.nodes).findLast((node) => node.spec.answers === id && !hasEnded(node));
  }

  async #quoted({ repository }: TeamRepository, id: NodeId, { path, line, side }: Comment): Promise<string> {
    const state: RepositoryState | undefined = this.#ports.pending().repository;
    const at = state?.nodes[id]?.commit;
    const commit = (side === "old" ? at?.parent : at?.merged) ?? state?.tip;
    const content = commit && (await repository.fileAt(commit, path, MOST_QUOTED));
    if (!content)
      throw new HumanRefusal(
        "not_found",
        `${id} has no file ${path}${side === "old" ? " before its change" : ""}, or it is too large to comment on.`,
      );
    const lines = content.toString("utf8").replace(/\n$/, "").split("\n");
    if (line > lines.length)
      throw new HumanRefusal(
        "bad_request",
        `${path} has ${lines.length === 1 ? "1 line" : `${lines.length} lines`}, and no line ${line}.`,
      );
    const from = Math.max(0, line - 1 - AROUND);
    return lines
      .slice(from, line + AROUND)
      .map((text, at) => `${from + at + 1}${from + at + 1 === line ? "→" : " "}${text.slice(0, 300)}`)
      .join("\n");
  }

  async #answered(node: NodeState, comment: GivenComment): Promise<string> {
    const { pending, team, log, openNextRun, goOn } = this.#ports;
    const comments = (pending().repository?.nodes[node.id]?.comments ?? []).filter(
      ({ answered_by }) => answered_by === null,
    );
    const task = answerTask(node, comments);
    const { run } = pending().agent;
    let made: NodeId | undefined;
    const first = (run_id: RunId) => {
      const again = team(run_id).goesOn(node, task);
      if (typeof again === "string") throw new HumanRefusal("conflict", again);
      made = again.node_id;
      return { goal: answerGoal(node, again.node_id), facts: again.facts };
    };
    if (run && !run.finished) await log.append({ facts: first(run.id).facts }).durable;
    else if (!(await openNextRun(`comment@${node.id}`, first))) return this.#told(node.id, comment);
    const kept = await goOn();
    return `${made} answers it, on the work of ${node.id}.${kept}`;
  }
}

const MOST_NEAR = 1000;
const SHORTEST_ID = 7;
const MOST_QUOTED = 4 * 1024 * 1024;
const AROUND = 3;

function acceptedWords(
  { how, branch, commit, into, url }: FactOf<"branch.delivered">["data"],
  person: PersonRepository,
): string {
  const at = `${branch} (${commit.slice(0, 10)})`;
  if (how === "merge")
    return `${branch} is merged into ${into ?? "your branch"} of ${person.top} (${commit.slice(0, 10)}).`;
  if (how === "pr") return `${at} is pushed, and a pull request is open: ${url}`;
  return `${at} is in ${person.top}. To look at it: git log ${branch}. To merge it: git merge ${branch}`;
}
