import type { MeshQueueName, MeshView } from "../live/api.ts";
import type { Status } from "../shell/status.tsx";

type MeshAgent = MeshView["agents"][number];

export function statusOfMesh({
  status,
  agents,
  last_end,
  trust,
}: Pick<MeshView, "status" | "agents" | "last_end" | "trust">): Status {
  if (trust.status === "untrusted" || trust.status === "changed") return "asking";
  if (agents.some(({ state }) => state === "dialog")) return "asking";
  const hasEnded = (state: MeshAgent["state"]) => state === "dead" || state === "broken";
  if (agents.some(({ state, active }) => hasEnded(state) && active !== null)) return "failed";
  if (status === "complete" && last_end?.failed) return "failed";
  // It would look ready, and fail with its first task.
  const isUnable = agents.some(({ state, problem }) => problem !== null || state === "broken");
  if (status === "idle" && isUnable) return "unable";
  return status === "processing"
    ? "working"
    : status === "active"
      ? "waiting"
      : status === "complete"
        ? "done"
        : "idle";
}

export function statusOfMember({ state, active, problem }: Pick<MeshAgent, "state" | "active" | "problem">): Status {
  switch (state) {
    case "starting":
    case "busy":
      return "working";
    case "dialog":
      return "asking";
    case "dead":
    case "broken":
      return "failed";
    case "ready":
    case "idle":
      return active === null ? "idle" : "waiting";
    case "gone":
    case null:
      if (problem !== null) return "unable";
      return active === null ? "pending" : "waiting";
  }
}

/** What a session is doing, in words. */
export function stateWords({ state, active, problem }: Pick<MeshAgent, "state" | "active" | "problem">): string {
  switch (state) {
    case "starting":
      return "is starting";
    case "busy":
      return "works";
    case "dialog":
      return "has a dialog open: attach and answer it";
    case "dead":
      return "has died; the next message starts it again";
    case "broken":
      return "cannot start: its program is missing, or died at once three times; it stays stopped until it is started again";
    case "ready":
    case "idle":
      return active === null ? "waits for a task" : "is quiet while it has a task";
    case "gone":
      return "is not running";
    case null:
      return problem === null ? "has not started" : "cannot start";
  }
}

/** Active messages first, then waiting ones, then ended ones. */
export const IN_SIGHT: readonly MeshQueueName[] = [
  "active",
  "next",
  "inbox",
  "outbox",
  "quarantine",
  "complete",
  "archive",
];

export const QUEUE_WORDS: Readonly<Record<MeshQueueName, string>> = {
  active: "Active",
  next: "Next",
  inbox: "Inbox",
  outbox: "Outbox",
  quarantine: "Quarantine",
  complete: "Complete",
  archive: "Archive",
};
