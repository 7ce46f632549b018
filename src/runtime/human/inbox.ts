import { type FailedTask, type MeshSession, needsDecision, type Situation } from "../../projections/index.ts";
import { type AgentId, COORDINATOR, HUMAN, type NodeId } from "../../protocol/index.ts";

/**
 * An item of the human's inbox. Some items wait for the human, because nothing continues without them: a question until
 * it is answered; a stage that needs approval, or a failed run, until it is resumed or archived; a failed task of a
 * mesh until it was seen or is done after all; a stuck session of a mesh until it continues; a team whose workers all
 * wait for each other until one of them goes on. The others are messages, until they are read.
 */
export interface InboxItem {
  kind: "question" | "approval" | "failure" | "message";
  id: string;
  agent: { id: AgentId; name: string };
  from: { id: string; name: string };
  text: string;
  /** Seconds since 1970. */
  since_ts: number;
  choices: readonly string[];
  deadline_ts: number | null;
  /** What counts as the answer when the deadline passes. */
  default: string | null;
  /** Of a question: it asks for permission, in our words. */
  permission?: boolean;
  /** Of a failure: the task of a mesh that it is about. */
  mesh_task?: FailedTask & { project: string };
  /** Of what waits at the terminal of a mesh agent: whose it is. */
  mesh_session?: MeshSession & { project: string };
  /** Everybody waits for each other: on which nodes. */
  deadlock?: NodeId[];
  /** Of a question: Agiraph asks whether this mesh is trusted. */
  mesh_trust?: { project: string; mesh: string; hash: string };
}

/** Whether something continues only after a person has acted. */
export function needsPerson({ kind }: Pick<InboxItem, "kind">): boolean {
  return kind !== "message";
}

/** The human's inbox over all agents, oldest first. */
export function inboxOf(situations: Iterable<Situation>): InboxItem[] {
  return [...situations].flatMap(itemsOf).sort((a, b) => a.since_ts - b.since_ts);
}

function itemsOf({ agent, roster, questions, letters }: Situation): InboxItem[] {
  const whose = { id: agent.id, name: agent.created.name };
  const named = (id: string) => ({ id, name: roster[id]?.spawned.name ?? id });
  const plain = { choices: [], deadline_ts: null, default: null };
  const halt = needsDecision(agent) ? agent.halted : null;
  const halted = halt
    ? [
        {
          ...plain,
          kind: agent.status === "failed" ? ("failure" as const) : ("approval" as const),
          id: agent.run?.id ?? agent.id,
          agent: whose,
          from: named(COORDINATOR),
          text: halt.why,
          since_ts: halt.ts,
        },
      ]
    : [];
  const asked = Object.values(questions.open).map(
    ({ id, worker_id, text, asked_ts, permission, mesh_trust, ...more }): InboxItem => ({
      kind: "question",
      id,
      agent: whose,
      // Their own node is put before them by us.
      from: mesh_trust || worker_id === HUMAN ? { id: worker_id, name: "Agiraph" } : named(worker_id),
      text,
      since_ts: asked_ts,
      choices: more.choices ?? [],
      deadline_ts: more.deadline_ts ?? null,
      default: more.default ?? null,
      ...(permission && { permission: true }),
      ...(mesh_trust && { mesh_trust: { project: agent.created.project ?? "", ...mesh_trust } }),
    }),
  );
  const unread = Object.values(letters.queued)
    .filter(({ reader }) => reader === HUMAN)
    .map(
      ({ id, from, text, sent_ts, failed_task, mesh_session, deadlock }): InboxItem => ({
        ...plain,
        kind: failed_task ? "failure" : mesh_session || deadlock ? "approval" : "message",
        id,
        agent: whose,
        from: named(from),
        text,
        since_ts: sent_ts,
        ...(failed_task && { mesh_task: { ...failed_task, project: agent.created.project ?? "" } }),
        ...(deadlock && { deadlock }),
        ...(mesh_session && { mesh_session: { ...mesh_session, project: agent.created.project ?? "" } }),
      }),
    );
  return [...asked, ...halted, ...unread];
}
