import { useState } from "react";
import { isAtWork } from "../../../src/projections/index.ts";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Nowhere } from "../entity/entity-view.tsx";
import { give, type MeshProjectView, type MeshQueues, type MeshView, meshProject, meshQueues } from "../live/api.ts";
import { useAgents, useLoaded, useOfAgent, usePaced } from "../live/use-live.ts";
import { Link } from "../shell/link.tsx";
import { complain } from "../shell/overlay.ts";
import { labelOf, StatusDot } from "../shell/status.tsx";
import { count } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { FailureCard, failuresOf } from "./failures.tsx";
import { MeshComposer } from "./mesh-composer.tsx";
import { Results } from "./mesh-results.tsx";
import { stateWords, statusOfMember, statusOfMesh } from "./mesh-status.ts";
import { QueueList } from "./queue-list.tsx";
import { StartMeshes } from "./start-meshes.tsx";
import { TrustCard } from "./trust-card.tsx";

type MeshAgent = MeshView["agents"][number];

/** A mesh: its agents and their states, their queues, and the input field to write to them. */
export default function MeshScreen({
  project,
  mesh: name,
  member,
}: {
  project: string;
  mesh: string;
  member: string | null;
}) {
  // The files are the truth, and every fact of the record says that they have changed.
  const newest = usePaced(
    useOfAgent(project, (view) => (view.state === "gone" ? -1 : view.newest)),
    150,
  );
  const { meshes: known } = useAgents();
  const load = () => Promise.all([meshProject(project), meshQueues(project, name)]);
  const loaded = useLoaded(`${project} ${name}`, load, String(newest));
  if (newest === -1) return <Nowhere what={`There are no meshes ${project}.`} />;
  const declared = known.find(({ id }) => id === project);
  if (declared && !isAtWork(declared.status))
    return (
      <Nowhere what="The meshes of this project are stopped.">
        <StartMeshes project={declared.project} />
      </Nowhere>
    );
  if (loaded.state === "failed") return <Nowhere what={loaded.problem} />;
  if (loaded.state === "loading") return <Loading />;
  const [home, queues] = loaded.value;
  const mesh = home.meshes.find((one) => one.mesh === name);
  if (!mesh) return <Nowhere what={notThere(name, declared ?? home)} />;
  return <MeshPage {...{ project, home, mesh, queues, member, newest }} />;
}

interface MeshPageProps {
  project: string;
  home: MeshProjectView;
  mesh: MeshView;
  queues: MeshQueues;
  member: string | null;
  newest: number;
}

function MeshPage({ project, home, mesh, queues, member, newest }: MeshPageProps) {
  const { mesh: name } = mesh;
  const chosen = mesh.agents.find((one) => one.name === member) ?? null;
  const owner = queues.places.find(({ agent }) => agent === (chosen?.name ?? null));
  const status = statusOfMesh(mesh);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader
        title={
          <>
            <StatusDot status={status} isBeside />
            {name}
            <span className="text-xs font-normal text-dim">{labelOf(status)}</span>
          </>
        }
        detail={`${mesh.topology} · ${count(mesh.tasks_completed, "task")} completed · ${visible(home.project)}`}
      />
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <section
          aria-label="Agents of this mesh"
          className="max-h-[min(16rem,30dvh)] shrink-0 overflow-y-auto border-line max-md:border-b md:max-h-none md:w-72 md:border-r"
        >
          {mesh.description && <p className="px-3 pt-3 text-[13px] text-dim md:px-4">{mesh.description}</p>}
          <ul className="p-2">
            <li>
              <PlaceLink project={project} mesh={mesh} member={null} isHere={chosen === null} />
            </li>
            {mesh.agents.map((one) => (
              <li key={one.name}>
                <PlaceLink project={project} mesh={mesh} member={one} isHere={chosen === one} />
              </li>
            ))}
          </ul>
        </section>
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <section
            className="min-h-0 flex-1 overflow-y-auto p-3 md:p-5"
            aria-label={`Messages of ${chosen?.name ?? name}`}
          >
            <TrustCard key={`${project}/${name}`} project={project} mesh={mesh} />
            {chosen && failuresOf(project, name, chosen.name).map((item) => <FailureCard key={item.id} item={item} />)}
            {!chosen && <Results project={project} mesh={name} tick={String(newest)} />}
            {chosen && <Session project={project} mesh={name} member={chosen} />}
            {owner && <QueueList project={project} mesh={name} owner={owner} />}
          </section>
          <MeshComposer key={chosen?.name ?? ""} project={project} mesh={mesh} member={chosen?.name ?? null} />
        </div>
      </div>
    </div>
  );
}

function notThere(mesh: string, { meshes }: MeshProjectView): string {
  const names = meshes.map((one) => one.mesh).join(", ");
  return `There is no mesh ${mesh} any more.${names && ` Choose from: ${names}.`}`;
}

/** The mesh as a whole, or one of its agents, with how much waits and is under way there. */
function PlaceLink(props: { project: string; mesh: MeshView; member: MeshAgent | null; isHere: boolean }) {
  const { project, mesh, member, isHere } = props;
  const { queues } = member ?? mesh;
  const waiting = queues.inbox + queues.next;
  return (
    <Link
      to={{ screen: "mesh", project, mesh: mesh.mesh, member: member?.name ?? null }}
      current={isHere}
      className="flex min-h-11 items-start gap-2 rounded-md px-2 py-2 text-[13px] hover:bg-hover aria-[current]:bg-tint"
    >
      <span className="mt-1">
        <StatusDot status={member ? statusOfMember(member) : statusOfMesh(mesh)} />
      </span>
      <span className="min-w-0 flex-1">
        <span className="block truncate font-semibold">{member?.name ?? "The mesh itself"}</span>
        <span className="block truncate text-xs text-dim">
          {member ? (member.description ?? member.program) : `Messages to ${mesh.mesh} as a whole`}
        </span>
      </span>
      <span className="shrink-0 text-xs text-dim">
        {queues.active > 0 && <span className="text-busy">{queues.active} active </span>}
        {waiting > 0 && `${waiting} waiting`}
        {queues.quarantine > 0 && <span className="text-bad"> {queues.quarantine} quarantined</span>}
      </span>
    </Link>
  );
}

const BUTTON =
  "min-h-11 shrink-0 rounded-md border border-line px-3 text-[13px] font-semibold hover:bg-hover disabled:opacity-60 md:min-h-8";

/** Who runs it and how it fares; what has a terminal can be begun, ended, and sat down before. */
function Session({ project, mesh, member }: { project: string; mesh: string; member: MeshAgent }) {
  const [isBusy, setBusy] = useState(false);
  const steer = (how: "spawn_mesh_agent" | "kill_mesh_agent") => {
    setBusy(true);
    give({ do: how, id: project, mesh, agent: member.name })
      .catch(complain)
      .finally(() => setBusy(false));
  };
  const isRunning = member.state !== null && member.state !== "gone" && member.state !== "dead";
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2 rounded-lg border border-line bg-raised p-3">
      <div className="min-w-0 flex-1 basis-60">
        <p>
          <span className="font-semibold">{member.name}</span> {stateWords(member)}.
        </p>
        <p className="text-xs text-dim [overflow-wrap:anywhere]">
          {member.program} · {RUNS[member.runs]}
        </p>
        {member.problem && <p className="mt-1 text-xs text-bad [overflow-wrap:anywhere]">{member.problem}</p>}
        {member.attach && isRunning && (
          <p className="mt-1 text-xs text-dim">
            Open its terminal:{" "}
            <code className="rounded bg-hover px-1 [overflow-wrap:anywhere]">
              tx attach {mesh} {member.name}
            </code>
          </p>
        )}
      </div>
      {member.runs === "tmux" && !isRunning && (
        <button type="button" className={BUTTON} disabled={isBusy} onClick={() => steer("spawn_mesh_agent")}>
          Start
        </button>
      )}
      {isRunning && (
        <button type="button" className={BUTTON} disabled={isBusy} onClick={() => steer("kill_mesh_agent")}>
          End session
        </button>
      )}
    </div>
  );
}

const RUNS: Readonly<Record<MeshAgent["runs"], string>> = {
  tmux: "in a terminal",
  headless: "without a terminal",
  harnessed: "a model in Agiraph’s own loop",
};
