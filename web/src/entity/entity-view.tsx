import { type ReactNode, useEffect } from "react";
import type { Situation } from "../../../src/projections/index.ts";
import { COORDINATOR, HUMAN } from "../../../src/protocol/index.ts";
import { useAgent } from "../live/use-live.ts";
import { foot } from "../shell/foot.ts";
import { Link } from "../shell/link.tsx";
import type { PagePlace } from "../shell/route.ts";
import { markRead } from "../shell/unread.ts";
import { Composer } from "./composer.tsx";
import { EntityHeader, ScreenHeader } from "./entity-header.tsx";
import { nameOf } from "./message-block.tsx";
import { ResultsSoFar } from "./results-so-far.tsx";
import { StreamView } from "./stream.tsx";

/** A worker, or the coordinator: what they do and say, and the input field to talk to them. */
export function EntityView({ agent, worker }: { agent: string; worker: string }) {
  const view = useAgent(agent);
  const { situation, version } = view;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the situation is changed in place; its version says so
  useEffect(() => {
    const look = () => {
      if (situation && view.state !== "replay" && !document.hidden) markRead(situation, worker);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [situation, version, worker]);

  if (view.state === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  if (!situation) return <Loading />;
  const person = situation.roster[worker];
  if (!person && worker !== COORDINATOR) return <Nowhere what={`Nobody named ${worker} is on this team.`} />;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <EntityHeader view={view} situation={situation} worker={worker} />
      {worker === COORDINATOR && <ResultsSoFar view={view} situation={situation} />}
      <StreamView key={`${agent} ${worker} ${view.life}`} view={view} worker={worker} />
      {situation.agent.created.meshes ? (
        <ToMesh project={agent} name={person?.spawned.name ?? ""} />
      ) : isOver(situation, worker) ? (
        <Instead to={{ screen: "entity", agent, worker: COORDINATOR }}>
          The run is over, and the work of {nameOf(agent, worker)} with it. Write to the coordinator
        </Instead>
      ) : (
        worker !== HUMAN && <Composer key={`to ${agent} ${worker}`} view={view} situation={situation} worker={worker} />
      )}
    </div>
  );
}

/** An agent of a mesh is written to on the mesh's page, where the message becomes a file. */
function ToMesh({ project, name }: { project: string; name: string }) {
  const [mesh = "", member] = name.split("/");
  if (mesh === "") return null;
  return <Instead to={{ screen: "mesh", project, mesh, member: member ?? null }}>Write to {name} in its mesh</Instead>;
}

/** Of a run that has ended only the coordinator can be written to; who asked something can still be answered. */
function isOver({ agent, questions }: Situation, worker: string): boolean {
  if (worker === COORDINATOR || worker === HUMAN) return false;
  const isAsking = Object.values(questions.open).some(({ worker_id }) => worker_id === worker);
  return !isAsking && (agent.run === null || agent.run.finished !== null);
}

/** Where one writes instead of here. */
function Instead({ to, children }: { to: PagePlace; children: ReactNode }) {
  return (
    <div ref={foot} className="shrink-0 border-t border-line px-3 py-2 text-[13px] md:px-5">
      <Link to={to} className="inline-flex min-h-11 items-center text-accent underline md:min-h-8">
        <span>{children}</span>
      </Link>
    </div>
  );
}

/** What the address names does not exist. */
export function Nowhere({ what, children }: { what: string; children?: ReactNode }) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader title="Not here" />
      <Missing what={what}>
        {children && <p className="mt-2">{children}</p>}
        <Link
          to={{ screen: "home" }}
          className="mt-2 inline-flex min-h-11 items-center text-accent underline md:min-h-8"
        >
          All agents
        </Link>
      </Missing>
    </div>
  );
}

export function Missing({ what, children }: { what: string; children?: ReactNode }) {
  return (
    <div className="grid h-full flex-1 place-items-center p-8 text-center text-dim">
      <div>
        <p>{what}</p>
        {children}
      </div>
    </div>
  );
}

/** Shown while data are loading, with links to other screens. */
export function Loading() {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader title={<span className="text-dim">Loading…</span>} />
      <div className="p-3 md:p-5">
        <Outline />
      </div>
    </div>
  );
}

/** A placeholder for text. */
export function Outline() {
  return (
    <div className="animate-pulse space-y-6" role="status" aria-label="Loading">
      {["w-3/5", "w-2/5", "w-1/2"].map((width) => (
        <div key={width} className="flex gap-3">
          <div className="size-8 shrink-0 rounded-md bg-hover" />
          <div className="flex-1 space-y-2">
            <div className="h-3 w-24 rounded bg-hover" />
            <div className={`h-3 rounded bg-hover ${width}`} />
          </div>
        </div>
      ))}
    </div>
  );
}
