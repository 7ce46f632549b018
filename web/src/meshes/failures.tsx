import { useState } from "react";
import { dismiss, type InboxItem, meshLetter, sendToMesh } from "../live/api.ts";
import { useAgents } from "../live/use-live.ts";
import { complain } from "../shell/overlay.ts";
import { StatusDot } from "../shell/status.tsx";
import { bodyOf } from "./letter-parts.ts";

type Failure = InboxItem & { mesh_task: NonNullable<InboxItem["mesh_task"]> };

/** What a person gave the mesh, or this agent of it, and that failed: it stands here until it is sent again or dismissed. */
export function Failures({ project, mesh, member }: { project: string; mesh: string; member: string | null }) {
  const { inbox } = useAgents();
  const failed = inbox.filter(
    (item): item is Failure =>
      item.agent.id === project &&
      item.mesh_task?.mesh === mesh &&
      (member === null || item.mesh_task.agent === member),
  );
  return failed.map((item) => <FailureCard key={item.id} project={project} item={item} />);
}

const BUTTON =
  "min-h-11 shrink-0 rounded-md border border-line bg-page px-3 text-[13px] font-semibold hover:bg-hover disabled:opacity-60 md:min-h-8";

function FailureCard({ project, item }: { project: string; item: Failure }) {
  const [isBusy, setBusy] = useState(false);
  const { mesh, agent, name } = item.mesh_task;
  const isSeen = () => dismiss(project, item.id);
  const again = async () => {
    const { text } = await meshLetter(project, mesh, agent, "complete", name);
    await sendToMesh(project, mesh, { to: agent, type: "task", text: bodyOf(text) });
    await isSeen();
  };
  const act = (what: () => Promise<unknown>) => () => {
    setBusy(true);
    what()
      .catch(complain)
      .finally(() => setBusy(false));
  };
  return (
    <section
      aria-label="Failed"
      className="mb-4 flex flex-wrap items-center gap-2 rounded-lg border border-bad/50 bg-bad-tint p-3"
    >
      <div className="flex min-w-0 flex-1 basis-60 gap-2">
        <span className="mt-1">
          <StatusDot status="failed" isBeside />
        </span>
        <div className="min-w-0">
          <p className="text-bad [overflow-wrap:anywhere]">{item.text}</p>
          <p className="text-xs text-dim">Mend what kept it from being done and send it again, or dismiss it.</p>
        </div>
      </div>
      <button type="button" className={BUTTON} disabled={isBusy} onClick={act(again)}>
        Send again
      </button>
      <button type="button" className={BUTTON} disabled={isBusy} onClick={act(isSeen)}>
        Dismiss
      </button>
    </section>
  );
}
