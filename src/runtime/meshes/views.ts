import { lstatSync } from "node:fs";
import { leaves } from "../../mesh/declaration/topology.ts";
import { type Layout, type MeshAddress, QUEUES, type QueueName } from "../../mesh/files/layout.ts";
import { type MeshMessage, readMessage } from "../../mesh/files/mesh-message.ts";
import { format, titleOf } from "../../mesh/files/message-file.ts";
import { derivedName } from "../../mesh/files/message-names.ts";
import { Queues } from "../../mesh/files/queue.ts";
import { completedTasks } from "../../mesh/running/completed-tasks.ts";
import type { HostedMeshes } from "./hosted-meshes.ts";

/** A mesh as it is shown to people. */
export function meshView(hosted: HostedMeshes, name: string) {
  const mesh = hosted.meshes.meshes.get(name);
  const declared = hosted.meshes.declared().get(name);
  if (!declared) return undefined;
  const { config, lifetime, topology, plan, agents } = declared;
  const queuesFor = (agent: string | null) =>
    (agent === null ? mesh?.queues : mesh?.agents.get(agent)) ?? lookInto(hosted.layout, { mesh: name, agent });
  const own = queuesFor(null);
  const { status, current_agent, tasks_completed } = mesh?.state ?? atRest(own);
  return {
    mesh: name,
    description: config.description ?? null,
    lifetime,
    topology,
    workflow: leaves(plan).map(({ agent }) => agent),
    status,
    current_agent,
    tasks_completed,
    last_end: hosted.lastEnd(name),
    failures: hosted.failuresOf(name),
    trust: hosted.trustOf(name),
    ...queueCounts(own),
    agents: [...agents.values()].map((agent) => {
      const queues = queuesFor(agent.name);
      return {
        name: agent.name,
        description: agent.config.description ?? null,
        ...hosted.stateOf(name, agent.name),
        ...queueCounts(queues),
        active_since: sinceWhen(queues),
        attach: hosted.attachWords(name, agent.name),
      };
    }),
  };
}

/** Messages are files: they are there also if the mesh is not at work. A mesh that is asleep has put them away. */
function lookInto(layout: Layout, address: MeshAddress): Queues {
  const queues = new Queues(layout, address);
  queues.look();
  return queues;
}

/** For a mesh that is not at work: not trusted, or between two tasks. */
function atRest(queues: Queues) {
  return { status: "idle", current_agent: null, tasks_completed: completedTasks(queues) } as const;
}

function queueCounts(queues: Queues) {
  const counts = QUEUES.map((queue) => [queue, queues.count(queue)] as const);
  const active = queues.first("active") ?? null;
  return { queues: Object.fromEntries(counts) as Record<QueueName, number>, active };
}

/** A rename changes the ctime of a file: since when it is in its queue. */
function sinceWhen(queues: Queues): number | null {
  const active = queues.first("active");
  if (active === undefined) return null;
  const stat = lstatSync(queues.path("active", active), { throwIfNoEntry: false });
  return stat ? stat.ctimeMs / 1000 : null;
}

/** Whether a task has failed. */
function hasFailed(hosted: HostedMeshes, queues: Queues, queue: QueueName, name: string): boolean {
  const { mesh, agent } = queues.address;
  if (queue !== "complete") return false;
  if (agent !== null) return queues.has("complete", derivedName(name, "error"));
  const last = hosted.lastEnd(mesh);
  if (last?.task === name) return last.failed;
  const ends = hosted.meshes.meshes.get(mesh)?.ends(name) ?? [];
  return ends.some(({ failed }) => failed);
}

export function queuesView(hosted: HostedMeshes, mesh: string, limit: number) {
  const declared = hosted.meshes.declared().get(mesh);
  if (!declared) return undefined;
  const places = [null, ...declared.agents.keys()].map((agent) => {
    const queues = new Queues(hosted.layout, { mesh, agent });
    queues.look();
    const views = QUEUES.map((queue) => {
      const names = queues.list(queue);
      const isOver = queue === "complete" || queue === "archive" || queue === "quarantine";
      const shown = isOver ? names.slice(-limit) : names.slice(0, limit);
      return [
        queue,
        { count: names.length, messages: shown.flatMap((name) => messageView(hosted, queues, queue, name) ?? []) },
      ];
    });
    return { agent, queues: Object.fromEntries(views) as Record<QueueName, QueueView> };
  });
  return { mesh, places };
}

interface QueueView {
  count: number;
  messages: MessageView[];
}

type MessageView = NonNullable<ReturnType<typeof messageView>>;

function messageView(hosted: HostedMeshes, queues: Queues, queue: QueueName, name: string) {
  const message = readMessage(queues, queue, name);
  const stat = lstatSync(queues.path(queue, name), { throwIfNoEntry: false });
  if (!message || !stat) return undefined;
  return { ...viewOf(name, message, stat.ctimeMs / 1000), failed: hasFailed(hosted, queues, queue, name) };
}

function viewOf(name: string, message: MeshMessage | { reason: string }, at: number) {
  if ("reason" in message)
    return { name, from: null, to: null, type: null, status: null, title: name, at, problem: message.reason };
  const { from, to, type, status } = message.header;
  return { name, from, to, type, status, title: titleOf(message.body), at, problem: null };
}

/** One whole message. Undefined if it does not exist (any more). */
export function wholeMessageView(hosted: HostedMeshes, address: MeshAddress, queue: QueueName, name: string) {
  const queues = new Queues(hosted.layout, address);
  const view = messageView(hosted, queues, queue, name);
  if (!view) return undefined;
  const message = readMessage(queues, queue, name);
  const text = message && "body" in message ? format(message.header, message.body) : "";
  return { ...view, ...address, queue, text };
}
