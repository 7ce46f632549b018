import { X } from "lucide-react";
import type { ReactNode } from "react";
import { hasEnded, type NodeState, type Situation, shownNodeStatus } from "../../../src/projections/index.ts";
import type { Fact } from "../../../src/protocol/index.ts";
import { outcomeWords } from "../../../src/wording/phrases.ts";
import { workState } from "../changes/branch-state.ts";
import { Counts } from "../changes/counts.tsx";
import { WorkSign } from "../changes/work-sign.tsx";
import { GoOn } from "../entity/go-on.tsx";
import { nameOf } from "../entity/message-block.tsx";
import { type FileItem, nodeDetail } from "../live/api.ts";
import { useLoaded, usePaced } from "../live/use-live.ts";
import type { AgentView } from "../live/view.ts";
import { Link } from "../shell/link.tsx";
import { goTo, useRoute } from "../shell/route.ts";
import { colourOf, StatusDot, statusOfNode } from "../shell/status.tsx";
import { clockTime, exactTime, firstLine, gist, money, size } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible } from "../text/visible.ts";
import { factWords } from "../timeline/fact-words.ts";
import { CancelNode } from "./cancel-node.tsx";

/** Everything about one node: why it exists, what was asked, what it reads, what it has made, what happened. */
export function NodePanel({ view, situation, node }: { view: AgentView; situation: Situation; node: NodeState }) {
  const { at } = useRoute();
  // What is in its folder changes with its work.
  const tick = usePaced(`${node.status} ${node.facts}`, 1000);
  const detail = useLoaded(`${view.id} ${node.id}`, () => nodeDetail(view.id, node.id), tick);
  const statusText = shownNodeStatus(node, situation, situation.agent.status);
  const loaded = detail.state === "ready" ? detail.value : null;
  const log = (loaded?.log.events ?? []).filter(({ seq }) => at === null || seq <= at) as Fact[];
  const { run_id, task } = node.spec;
  const folder = `runs/${run_id}/nodes/${node.id}`;
  return (
    <aside
      aria-label={node.id}
      className="compact absolute inset-0 z-10 flex flex-col border-l border-line bg-page md:static md:w-[26rem] md:shrink-0"
    >
      <PanelHeader view={view} node={node} statusText={statusText} />
      <div className="min-h-0 flex-1 space-y-4 overflow-y-auto p-4">
        <Facts view={view} node={node} />
        <Reason view={view} situation={situation} node={node} />
        <Section title="Spec">
          <Markdown text={withoutTitle(loaded?.spec ?? task)} />
        </Section>
        <Refs view={view} node={node} />
        <End view={view} situation={situation} node={node} />
        <Work view={view} situation={situation} node={node} />
        {run_id === situation.agent.run?.id && <CancelNode view={view} node={node} />}
        <FileSection
          title="published/"
          view={view}
          folder={`${folder}/published`}
          files={at === null ? loaded?.published : publishedBy(node)}
        />
        <FileSection
          title={at === null ? "scratch/" : "scratch/, as it is now"}
          view={view}
          folder={`${folder}/scratch`}
          files={loaded?.scratch}
        />
        <Section title="Log">
          {detail.state === "failed" && <p className="text-bad">{detail.problem}</p>}
          {detail.state === "loading" && <p className="text-dim">Loading…</p>}
          <Log view={view} facts={log} />
        </Section>
      </div>
    </aside>
  );
}

interface PartProps {
  view: AgentView;
  node: NodeState;
}

function PanelHeader({ view, node, statusText }: PartProps & { statusText: ReturnType<typeof shownNodeStatus> }) {
  const status = statusOfNode(statusText);
  return (
    <div className="flex min-h-12 shrink-0 items-center gap-2 border-b border-line pr-2 pl-4">
      <StatusDot status={status} isBeside />
      <h2 className="font-mono text-[13px] font-semibold">{node.id}</h2>
      <span className={`text-xs font-medium ${colourOf(status)}`}>{statusText}</span>
      <Link
        to={{ screen: "board", agent: view.id, node: null }}
        label="Close"
        className="ml-auto grid size-11 place-items-center rounded-md hover:bg-hover md:size-8"
      >
        <X className="size-4" aria-hidden />
      </Link>
    </div>
  );
}

/** Who has it, who made it, what it cost. */
function Facts({ view, node }: PartProps) {
  const worker = "worker_id" in node ? node.worker_id : node.reserved_for;
  return (
    <dl className="grid grid-cols-[auto_1fr] items-center gap-x-3 gap-y-1 text-[13px]">
      <Term name="Worker">
        {worker ? (
          <Link
            to={{ screen: "entity", agent: view.id, worker }}
            className="inline-flex min-h-11 items-center text-accent underline md:min-h-0"
          >
            {nameOf(view.id, worker)}
          </Link>
        ) : (
          "nobody yet"
        )}
      </Term>
      <Term name="Created by">{nameOf(view.id, node.spec.created_by)}</Term>
      <Term name="Spent">{money(node.spent_usd)}</Term>
    </dl>
  );
}

function Reason({ view, situation, node }: PartProps & { situation: Situation }) {
  const { run_id, parent_node_id, dependencies } = node.spec;
  return (
    <Section title="Why it exists">
      {parent_node_id ? (
        <p className="text-[13px]">
          Part of <NodeLink view={view} id={parent_node_id} />
          {": "}
          {firstLine(situation.board.nodes[parent_node_id]?.spec.task ?? "")}
        </p>
      ) : (
        <p className="text-[13px]">For the goal: {firstLine(situation.agent.goals[run_id] ?? "")}</p>
      )}
      {dependencies.length > 0 && (
        <p className="mt-1 text-[13px]">
          After{" "}
          {dependencies.map((id, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <NodeLink view={view} id={id} />
            </span>
          ))}
        </p>
      )}
    </Section>
  );
}

function Refs({ view, node }: PartProps) {
  const { run_id, refs } = node.spec;
  if (Object.keys(refs).length === 0) return null;
  return (
    <Section title="Refs">
      <ul className="space-y-0.5 text-[13px]">
        {Object.entries(refs).map(([name, path]) => (
          <li key={name} className="[overflow-wrap:anywhere]">
            <span className="font-semibold">{visible(name)}</span> <RefPath view={view} run={run_id} path={path} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** How it ended, if it has. */
function End({ view, situation, node }: PartProps & { situation: Situation }) {
  return (
    <>
      {node.status === "completed" && (
        <Section title="Result">
          <Markdown text={node.summary} />
        </Section>
      )}
      {node.status === "failed" && (
        <Section title="Why it failed">
          <p className="text-bad [overflow-wrap:anywhere]">{gist(outcomeWords(node.outcome))}</p>
          {node.spec.run_id === situation.agent.run?.id && <GoOn agent={view.id} />}
        </Section>
      )}
      {node.status === "cancelled" && (
        <Section title="Why it was cancelled">
          <p className="[overflow-wrap:anywhere]">
            {nameOf(view.id, node.by)}: {visible(node.reason)}
          </p>
        </Section>
      )}
    </>
  );
}

/** What it changes in the person's repository, if it may. */
function Work({ view, situation, node }: PartProps & { situation: Situation }) {
  const work = situation.repository?.nodes[node.id];
  if (!work) return null;
  return (
    <Section title="Changes">
      <div className="flex flex-wrap items-center gap-x-3 text-[13px]">
        <WorkSign state={workState(situation, node.id, work)} />
        {work.commit && <Counts {...work.commit} />}
        <Link
          to={{ screen: "changes", agent: view.id, node: node.id }}
          className="inline-flex min-h-11 items-center text-accent underline md:min-h-6"
        >
          Review {node.id}
        </Link>
      </div>
    </Section>
  );
}

function Log({ view, facts }: { view: AgentView; facts: readonly Fact[] }) {
  return (
    <ol className="text-xs">
      {facts.map((fact) => (
        <li key={fact.seq} className="flex items-center gap-2 md:items-baseline">
          <button
            type="button"
            onClick={() => goTo(fact.seq)}
            title={`${exactTime(fact.ts)}: see everything as it was at fact ${fact.seq}`}
            className="min-h-11 shrink-0 font-mono text-accent underline md:min-h-6"
          >
            {clockTime(fact.ts)}
          </button>
          <span className="line-clamp-3 [overflow-wrap:anywhere]">{factWords(fact, (id) => nameOf(view.id, id))}</span>
        </li>
      ))}
    </ol>
  );
}

/** The file begins with the node's id, which stands above already. */
function withoutTitle(spec: string): string {
  return spec.replace(/^# node-\d+\n+/, "");
}

/** What was published at the moment that is shown: the record has it, whatever came later. */
function publishedBy(node: NodeState): FileItem[] {
  if (!hasEnded(node)) return [];
  return node.files.map(({ path, bytes }) => ({ path, bytes, kind: "file" }));
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-semibold text-dim">{title}</h3>
      {children}
    </section>
  );
}

function Term({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-dim">{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function NodeLink({ view, id }: { view: AgentView; id: string }) {
  return (
    <Link to={{ screen: "board", agent: view.id, node: id }} className="font-mono text-xs text-accent underline">
      {id}
    </Link>
  );
}

/** Leads to the file as soon as it is there. */
function RefPath({ view, run, path }: { view: AgentView; run: string; path: string }) {
  const [id = "", ...within] = path.split("/");
  const target = Object.values(view.situation?.board.nodes ?? {}).find((node) => node.id === id);
  const isThere = target && publishedBy(target).some((file) => `published/${file.path}` === within.join("/"));
  if (!isThere) return <span className="font-mono text-xs text-dim">{visible(path)}</span>;
  return (
    <Link
      to={{ screen: "files", agent: view.id, path: `runs/${run}/nodes/${path}` }}
      className="inline-flex min-h-11 items-center font-mono text-xs text-accent underline md:min-h-0"
    >
      {visible(path)}
    </Link>
  );
}

function FileSection({
  title,
  view,
  folder,
  files,
}: {
  title: string;
  view: AgentView;
  folder: string;
  files: readonly FileItem[] | undefined;
}) {
  const listed = (files ?? []).filter(({ kind }) => kind === "file");
  return (
    <Section title={title}>
      {listed.length === 0 && <p className="text-[13px] text-dim">{files ? "empty" : "…"}</p>}
      <ul>
        {listed.map(({ path, bytes }) => (
          <li key={path}>
            <Link
              to={{ screen: "files", agent: view.id, path: path.startsWith("runs/") ? path : `${folder}/${path}` }}
              className="flex min-h-11 items-center gap-2 rounded-md px-2 hover:bg-hover md:min-h-7"
            >
              <span className="truncate text-[13px]">
                {visible(path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path)}
              </span>
              <span className="ml-auto shrink-0 text-xs text-dim">{size(bytes)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
