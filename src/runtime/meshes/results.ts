import { lstatSync } from "node:fs";
import { relative } from "node:path";
import { QUEUES } from "../../mesh/files/layout.ts";
import { clipped, type MeshMessage, readMessage } from "../../mesh/files/mesh-message.ts";
import { titleOf } from "../../mesh/files/message-file.ts";
import { Queues } from "../../mesh/files/queue.ts";
import { type ForeignFile, filesIn, openIn } from "../../store/disk/foreign-folder.ts";
import type { OpenFile } from "../../store/disk/walk.ts";
import type { HostedMeshes } from "./hosted-meshes.ts";

/**
 * The results of a mesh's work: the end text of its last task, and the files in shared/output.
 *
 * MESH-RESULTS-1. It is read from the files, and from the record where no file says it, so it survives a restart.
 * MESH-RESULTS-2. The writer of a file is named only if exactly one agent had a task when it was last changed.
 */
export async function resultsView(hosted: HostedMeshes, mesh: string) {
  if (!hosted.meshes.declared().has(mesh)) return undefined;
  const { layout } = hosted;
  const { files, more } = await filesIn(layout.running, relative(layout.running, layout.output(mesh)), MOST_FILES);
  const shifts = files.length > 0 ? shiftsOf(hosted, mesh) : [];
  return {
    mesh,
    last: lastTask(hosted, mesh),
    output: relative(layout.project, layout.output(mesh)),
    files: files.map((file) => ({ ...file, by: writerOf(file, shifts) })),
    more,
  };
}

/** Opens a file of shared/output. Throws WalkError if that is not possible. */
export function openOutput({ layout }: HostedMeshes, mesh: string, path: string): OpenFile {
  return openIn(layout.running, `${relative(layout.running, layout.output(mesh))}/${path}`);
}

function lastTask(hosted: HostedMeshes, name: string) {
  const mesh = hosted.meshes.meshes.get(name);
  const queues = mesh?.queues;
  const task = queues?.list("complete").findLast((one) => typeOf(queues, one) === "task");
  const message = task !== undefined && queues && readMessage(queues, "complete", task);
  if (!message || "reason" in message) return null;
  const ends = mesh.ends(message.name).map(({ agent, name: file, failed }) => {
    const said = readMessage(new Queues(hosted.layout, { mesh: name, agent }), "complete", file);
    return { agent, failed, words: said && "body" in said ? clipped(said.body.trim(), MOST_WORDS) : "" };
  });
  const end = hosted.lastEnd(name);
  // If a task did not pass its gates, no agent of the mesh says so.
  const refused = end?.task === message.name && end.failed && ends.every(({ failed }) => !failed) ? end.words : null;
  const at = arrival(queues, message.name);
  return { name: message.name, from: message.header.from, title: titleOf(message.body), at, refused, ends };
}

function typeOf(queues: Queues, name: string): MeshMessage["header"]["type"] | undefined {
  const message = readMessage(queues, "complete", name);
  return message && "header" in message ? message.header.type : undefined;
}

function arrival(queues: Queues, name: string): number {
  return (lstatSync(queues.path("complete", name), { throwIfNoEntry: false })?.ctimeMs ?? 0) / 1000;
}

/** The time in which an agent had a task. */
interface Shift {
  agent: string;
  from: number;
  to: number;
}

function shiftsOf({ meshes, layout }: HostedMeshes, mesh: string): Shift[] {
  const agents = [...(meshes.declared().get(mesh)?.agents.keys() ?? [])];
  return agents.flatMap((agent) => {
    const queues = new Queues(layout, { mesh, agent });
    queues.look();
    return QUEUES.filter((queue) => queue === "complete" || queue === "active").flatMap((queue) =>
      queues
        .list(queue)
        .slice(-MOST_TASKS)
        .flatMap((name) => {
          const message = readMessage(queues, queue, name);
          const stat = lstatSync(queues.path(queue, name), { throwIfNoEntry: false });
          if (!stat || !message || "reason" in message || message.header.type !== "task") return [];
          const to = queue === "active" ? Number.POSITIVE_INFINITY : stat.ctimeMs / 1000;
          return [{ agent, from: stat.mtimeMs / 1000, to }];
        }),
    );
  });
}

/** MESH-RESULTS-2. File times are coarse: a file as old as the start of the next task belongs to the task before it. */
function writerOf({ at }: ForeignFile, shifts: readonly Shift[]): string | null {
  const there = shifts.filter(({ from, to }) => from <= at && at <= to);
  return onlyOne(there) ?? onlyOne(there.filter(({ from }) => from < at));
}

function onlyOne(shifts: readonly Shift[]): string | null {
  const [only = null, ...others] = new Set(shifts.map(({ agent }) => agent));
  return others.length === 0 ? only : null;
}

const MOST_FILES = 200;
const MOST_TASKS = 50;
const MOST_WORDS = 20_000;
