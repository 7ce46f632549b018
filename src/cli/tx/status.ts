import { readDeclared } from "../../mesh/config.ts";
import { QUEUES } from "../../mesh/layout.ts";
import type { MeshProjectView, MeshView } from "../../protocol/api.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { type Cell, table } from "../table.ts";
import { plain } from "../width.ts";
import { layoutOf, runningMeshes, type TxCall, unknown } from "./project.ts";

export async function status(call: TxCall, mesh: string | undefined): Promise<ExitCode> {
  const layout = layoutOf(call);
  const running = await runningMeshes(call, layout);
  if (running) {
    const { view } = running;
    const names = view.meshes.map((one) => one.mesh);
    if (mesh !== undefined && !names.includes(mesh)) throw new UsageError(unknown("mesh", mesh, names));
    const meshes = view.meshes.filter((one) => mesh === undefined || one.mesh === mesh);
    await showProject(call, { ...view, meshes });
    return EXIT.done;
  }
  const { meshes, problems } = await readDeclared(layout);
  const { terminal, json } = call;
  const declared = [...meshes.keys()].filter((name) => mesh === undefined || name === mesh);
  if (mesh !== undefined && declared.length === 0) throw new UsageError(unknown("mesh", mesh, [...meshes.keys()]));
  if (json) {
    const broken = problems.map(({ file, message }) => ({ file, problem: message }));
    await terminal.printJson({ project: layout.project, status: "stopped", declared, problems: broken });
    return EXIT.done;
  }
  for (const { message } of problems) terminal.say(`${terminal.errPaint.yellow("!")} ${plain(message)}`);
  terminal.say(
    `The meshes of ${layout.project} are not started (tx start). Declared: ${declared.join(", ") || "none"}.`,
  );
  return EXIT.done;
}

/** For people a table for each mesh, for programs the whole. */
export async function showProject(call: TxCall, view: MeshProjectView): Promise<void> {
  const { terminal, json } = call;
  for (const { problem } of view.problems) terminal.say(`${terminal.errPaint.yellow("!")} ${plain(problem)}`);
  if (json) {
    await terminal.printJson(view);
    return;
  }
  for (const mesh of view.meshes) await terminal.printLines(linesFor(call, mesh));
}

function linesFor({ terminal: { paint, columns } }: TxCall, mesh: MeshView): string[] {
  const head: Cell[] = ["AGENT", "RUNS", "STATE", "QUEUES", "ACTIVE"].map((text) => ({ text, paint: paint.dim }));
  const rows = mesh.agents.map((agent): Cell[] => [
    { text: agent.name, paint: paint.bold },
    { text: `${agent.runs} ${agent.program}` },
    { text: agent.state ?? "-", paint: paintFor(agent.state, paint) },
    { text: queueWords(agent.queues) },
    { text: agent.active ?? "" },
  ]);
  const about = `${mesh.topology}, ${mesh.lifetime}, ${mesh.status}, ${mesh.tasks_completed} done`;
  const queues = queueWords(mesh.queues);
  return [
    `${paint.bold(mesh.mesh)} (${about})${queues === "-" ? "" : ` ${queues}`}${mesh.active ? ` on ${mesh.active}` : ""}`,
    ...table([head, ...rows], columns).map((line) => `  ${line}`),
  ];
}

function queueWords(counts: Readonly<Record<string, number>>): string {
  const filled = QUEUES.filter((queue) => (counts[queue] ?? 0) > 0).map((queue) => `${queue} ${counts[queue]}`);
  return filled.join(", ") || "-";
}

function paintFor(state: string | null, paint: TxCall["terminal"]["paint"]): (text: string) => string {
  if (state === "dead" || state === "gone") return paint.red;
  if (state === "dialog") return paint.yellow;
  return state === "busy" ? paint.green : (text) => text;
}
