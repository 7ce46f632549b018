import { useState } from "react";
import { agents } from "../live/agents.ts";
import { give, type InboxItem, meshMessage } from "../live/api.ts";
import { complain } from "../shell/overlay.ts";
import { StatusDot } from "../shell/status.tsx";
import { gist } from "../text/figures.ts";
import { bodyOf } from "./message-parts.ts";

export type TaskFailure = InboxItem & { mesh_task: NonNullable<InboxItem["mesh_task"]> };

/**
 * Failed tasks that a person gave to the mesh, or to one of its agents: each stays until it is sent again or dismissed.
 */
export function failuresOf(project: string, mesh: string, member: string | null): TaskFailure[] {
  return agents.inbox.filter(
    (item): item is TaskFailure =>
      item.agent.id === project &&
      item.mesh_task?.mesh === mesh &&
      (member === null || item.mesh_task.agent === member),
  );
}

export function FailureCard({ item }: { item: TaskFailure }) {
  return (
    <section
      aria-label="Failed"
      className="mb-4 flex flex-wrap items-center gap-2 rounded-lg border border-bad/50 bg-bad-tint p-3"
    >
      <p className="flex min-w-0 flex-1 basis-60 gap-2 text-bad [overflow-wrap:anywhere]">
        <span className="mt-1">
          <StatusDot status="failed" isBeside />
        </span>
        {gist(item.text)}
      </p>
      <WhatToDo item={item} />
    </section>
  );
}

const BUTTON =
  "min-h-11 shrink-0 rounded-md border border-line bg-page px-3 text-[13px] font-semibold hover:bg-hover disabled:opacity-60 md:min-h-8";

export function WhatToDo({ item }: { item: TaskFailure }) {
  const [isBusy, setBusy] = useState(false);
  const { id: project } = item.agent;
  const { mesh, agent, name } = item.mesh_task;
  const isSeen = () => give({ do: "seen", id: project, message_id: item.id });
  const again = async () => {
    const { text } = await meshMessage(project, mesh, agent, "complete", name);
    await give({ do: "send_to_mesh", id: project, mesh, to: agent, type: "task", text: bodyOf(text) });
    await isSeen();
  };
  const act = (what: () => Promise<unknown>) => () => {
    setBusy(true);
    what()
      .catch(complain)
      .finally(() => setBusy(false));
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="text-xs text-dim">Once the cause is fixed:</p>
      <button type="button" className={BUTTON} disabled={isBusy} onClick={act(again)}>
        Send again
      </button>
      <button type="button" className={BUTTON} disabled={isBusy} onClick={act(isSeen)}>
        Dismiss
      </button>
    </div>
  );
}
