import { GitPullRequestArrow } from "lucide-react";
import { useState } from "react";
import type { Situation } from "../../../src/projections/index.ts";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Missing, Nowhere } from "../entity/entity-view.tsx";
import { diffOf, type RepositoryView, repositoryOf, takeInCommits } from "../live/repository-api.ts";
import { type Loaded, useAgent, useLoaded, usePaced } from "../live/use-live.ts";
import type { AgentView } from "../live/view.ts";
import { complain, toast } from "../shell/overlay.ts";
import { useRest } from "../shell/rest.ts";
import { AcceptMenu } from "./accept-menu.tsx";
import { BranchAbout } from "./branch-about.tsx";
import { BranchLine } from "./branch-line.tsx";
import { NodeAbout } from "./node-about.tsx";
import { Panes } from "./panes.tsx";
import { comparedOf } from "./review-target.ts";
import { Reviewed } from "./reviewed.tsx";
import { isWriting } from "./writes.ts";

/** What the team has changed in the person's repository: to be read, spoken about, accepted or rejected. */
export default function ChangesView({ agent, node }: { agent: string; node: string | null }) {
  const view = useAgent(agent);
  const { situation } = view;
  if (view.state === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  if (!situation) return <Loading />;
  if (!isWriting(situation))
    return (
      <div className="flex h-full min-h-0 flex-col">
        <ScreenHeader title="Changes" detail={situation.agent.created.name} />
        <Missing what="This agent may not change a repository. Start one that may, with the folder of a git repository and “May change this repository”." />
      </div>
    );
  return <Review view={view} situation={situation} node={node} />;
}

interface ReviewProps {
  view: AgentView;
  situation: Situation;
  node: string | null;
}

function Review({ view, situation, node }: ReviewProps) {
  const tick = usePaced(String(lastOf(view)), 1000);
  const loaded = useLoaded(view.id, () => repositoryOf(view.id), tick);
  const repository = loaded.state === "ready" ? loaded.value : null;
  const canAct = view.state !== "replay" && situation.agent.archived_ts === null;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader title="Changes" detail={situation.agent.created.name}>
        {repository && canAct && repository.tip !== repository.base && (
          <>
            <TakeIn agent={view.id} repository={repository} />
            <AcceptMenu agent={view.id} repository={repository} />
          </>
        )}
      </ScreenHeader>
      {repository && <BranchLine situation={situation} repository={repository} />}
      {view.state === "replay" && (
        <p role="note" className="shrink-0 border-b border-line bg-wait-tint px-3 py-1.5 text-xs text-wait md:px-5">
          The branch is shown as it is now, not as it was then.
        </p>
      )}
      {repository ? (
        <Work key={node} view={view} situation={situation} repository={repository} node={node} canAct={canAct} />
      ) : (
        <Waiting loaded={loaded} />
      )}
    </div>
  );
}

/** Facts that change what this screen shows of a repository. */
const CHANGES = /^(repository|node\.(cloned|published)|check|merge|branch|review|snapshot)\b/;

function lastOf({ facts }: AgentView): number {
  return facts.findLast(({ type }) => CHANGES.test(type))?.seq ?? 0;
}

function Waiting({ loaded }: { loaded: Loaded<unknown> }) {
  if (loaded.state === "failed")
    return (
      <p role="alert" className="p-5 text-bad [overflow-wrap:anywhere]">
        {loaded.problem}
      </p>
    );
  return <Missing what="Loading…" />;
}

function TakeIn({ agent, repository }: { agent: string; repository: RepositoryView }) {
  const [isBusy, setBusy] = useState(false);
  const [isResting, pressed] = useRest(repository.tip);
  const take = () => {
    if (isBusy || isResting) return;
    pressed();
    setBusy(true);
    takeInCommits(agent)
      .then(({ detail }) => toast("plain", detail), complain)
      .finally(() => setBusy(false));
  };
  return (
    <button
      type="button"
      onClick={take}
      aria-disabled={isBusy || isResting}
      title="Merge your new commits into the team's branch"
      aria-label="Take in my commits"
      className="flex min-h-11 min-w-11 shrink-0 items-center justify-center gap-1.5 rounded-md border border-line px-3 text-[13px] font-semibold hover:bg-hover aria-disabled:opacity-60 md:min-h-8"
    >
      <GitPullRequestArrow className="size-4" aria-hidden />
      <span className="hidden md:inline">Take in my commits</span>
    </button>
  );
}

interface WorkProps {
  view: AgentView;
  situation: Situation;
  repository: RepositoryView;
  node: string | null;
  canAct: boolean;
}

/** The work that is chosen, or the whole branch. */
function Work({ view: { id: agent }, situation, repository, node, canAct }: WorkProps) {
  const work = node === null ? null : Object.entries(repository.nodes).find(([id]) => id === node)?.[1];
  const compared = comparedOf(repository, node, work ?? null);
  const key = JSON.stringify([agent, node, compared]);
  const commits = work ? `${work.parent} ${work.merged}` : `${repository.base} ${repository.tip}`;
  const diff = useLoaded(key, async () => compared && { compared, diff: await diffOf(agent, compared) }, commits);
  const list = { agent, situation, repository, node };
  if (work === undefined)
    return (
      <Panes list={list} diff={null}>
        <Missing what={`${node} has not changed anything in the repository.`} />
      </Panes>
    );
  const about =
    node !== null && work ? (
      <NodeAbout agent={agent} situation={situation} id={node} work={work} canAct={canAct} />
    ) : (
      <BranchAbout agent={agent} situation={situation} repository={repository} />
    );
  const value = diff.state === "ready" ? diff.value : null;
  if (value) {
    // A line is spoken about as it is on the branch: of what never came there, the server has none.
    const canComment = canAct && value.compared.to === undefined;
    return <Reviewed target={{ agent, node, repository, ...value, canComment }} list={list} about={about} />;
  }
  return (
    <Panes list={list} diff={null}>
      <div className="h-full overflow-y-auto">
        {about}
        {diff.state === "ready" ? (
          <p className="px-3 pb-6 text-dim md:px-4">
            {node === null ? "Nothing is on the branch yet." : "Nothing has been published yet."}
          </p>
        ) : (
          <Waiting loaded={diff} />
        )}
      </div>
    </Panes>
  );
}
