import type { RepositoryState } from "../../projections/index.ts";
import type { RepositoryView } from "../../protocol/api/repository.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { lookAtRepository } from "../home/look-repository.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { count, timestamp } from "../wording/format.ts";
import { type Cell, table } from "../wording/table.ts";
import { unknownAction } from "../wording/usage-words.ts";
import { plain } from "../wording/width.ts";
import { restoreWork } from "./review.ts";

interface GitWords {
  action: string;
  agent: string;
  ref: string | undefined;
}

const ACTIONS = ["log", "restore"];

export async function git(
  call: Invocation,
  { action, agent, ref }: GitWords,
  { into }: { into?: string },
): Promise<ExitCode> {
  if (action === "restore") {
    if (ref !== undefined) return restoreWork(call, agent, ref, into);
    throw new UsageError(`Say what to restore. List it: ${commandLine(call, "git", "log", agent)}`);
  }
  if (action !== "log") throw new UsageError(unknownAction("git", action, ACTIONS));
  if (ref !== undefined || into !== undefined)
    throw new UsageError(
      `git log lists everything and takes only the agent. To restore: ${commandLine(call, "git", "restore", agent, ref ?? "COMMIT")}`,
    );
  return log(call, agent);
}

interface Entry {
  kind: "branch" | "saved" | "refused";
  commit: string;
  ts: number;
  author: string | null;
  subject: string;
  node_id: string | null;
  /** What is known of it: `what you have`, `reverted`. */
  about: string;
}

/** The branch from its base on, then everything that was kept without being in it. */
async function log(call: Invocation, word: string): Promise<ExitCode> {
  const { terminal, json } = call;
  const { reader, repository, now } = await lookAtRepository(call, word);
  const view = await reader.view();
  const commits = branchEntries(view);
  const others = otherEntries(view, repository);
  if (json) for (const entry of [...commits, ...others]) await terminal.printJson(entry);
  else await terminal.printLines([...commitLines(call, view, commits), ...otherLines(call, others)]);
  if (view.commits_total > commits.length)
    terminal.say(`Only the newest ${count(commits.length, "commit")} are listed.`);
  if (!json && others.length > 0)
    terminal.say(`As a branch of yours: ${commandLine(call, "git", "restore", now.agent.id, "COMMIT")}`);
  return EXIT.done;
}

function branchEntries(view: RepositoryView): Entry[] {
  const taken = view.delivered.at(-1)?.commit;
  const nodes = Object.entries(view.nodes);
  return view.commits.map(({ commit, ...entry }) => {
    const [node_id = null, node] = nodes.find(([, each]) => each.merged === commit || each.commit === commit) ?? [];
    const about = [
      ...(node?.state === "reverted" ? ["reverted since"] : []),
      ...(commit === taken ? ["what you last accepted"] : []),
    ];
    return { kind: "branch", commit, ...entry, node_id, about: about.join(", ") };
  });
}

function otherEntries(view: RepositoryView, { nodes }: RepositoryState): Entry[] {
  const refused = Object.entries(nodes).flatMap(([node_id, node]) =>
    node.refusals.map(({ commit, why }): Entry => {
      const about = why === "conflict" ? "conflicts with the branch" : "did not pass its checks";
      return { kind: "refused", commit, ts: 0, author: null, subject: "", node_id, about };
    }),
  );
  const saved = view.snapshots.map(({ ref, ...entry }): Entry => {
    const [, node_id = null] = /^refs\/agiraph\/snapshots\/([^/]+)\//.exec(ref) ?? [];
    return { kind: "saved", author: null, node_id, about: "saved, not published", ...entry };
  });
  return [...new Map([...saved, ...refused].map((entry) => [entry.commit, entry])).values()];
}

function commitLines({ terminal }: Invocation, view: RepositoryView, commits: readonly Entry[]): string[] {
  const { paint, lineColumns } = terminal;
  const base = `${shortId(view.base)}  the base${view.source_branch === null ? "" : `: ${plain(view.source_branch)}`} of ${plain(view.source)}`;
  return [paint.bold(view.branch), ...rows(commits, lineColumns, paint.yellow, paint.dim), paint.dim(base)];
}

function otherLines({ terminal }: Invocation, others: readonly Entry[]): string[] {
  if (others.length === 0) return [];
  const { paint, lineColumns } = terminal;
  return ["", paint.bold("Not in the branch"), ...rows(others, lineColumns, paint.yellow, paint.dim)];
}

type Colour = (text: string) => string;

function rows(entries: readonly Entry[], columns: number, id: Colour, dim: Colour): string[] {
  return table(
    entries.map(({ commit, ts, node_id, author, subject, about }): Cell[] => [
      { text: shortId(commit), paint: id },
      { text: ts === 0 ? "" : timestamp(ts), paint: dim },
      { text: node_id ?? plain(author ?? "") },
      { text: [plain(subject), about].filter(Boolean).join(" · ") },
    ]),
    columns,
  );
}

function shortId(commit: string): string {
  return commit.slice(0, 10);
}
