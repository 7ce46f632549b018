import type { Fact } from "../../protocol/index.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Cell, table } from "../wording/table.ts";
import { declaredMesh, layoutOf, type TxCall } from "./project.ts";
import { allFacts, projectRecordOf } from "./project-record.ts";
import { span } from "./status.ts";

/** The totals of a mesh or of one of its agents. */
export interface WorkFigures {
  mesh: string;
  /** Null for the mesh as a whole. */
  agent: string | null;
  done: number;
  failed: number;
  /** From when a task was taken up until it ended, in seconds. */
  seconds: { sum: number; longest: number };
  /** How often its session was started. */
  sessions: number;
  /** How often it did not pass a gate. */
  refused: number;
}

export async function stats(call: TxCall, mesh: string | undefined): Promise<ExitCode> {
  const layout = layoutOf(call);
  if (mesh !== undefined) await declaredMesh(layout, mesh);
  const { log } = await projectRecordOf(call, layout);
  const facts: Fact[] = [];
  for await (const fact of allFacts(log)) if (fact.type.startsWith("mesh.")) facts.push(fact);
  const all = figuresOf(facts).filter((one) => mesh === undefined || one.mesh === mesh);
  if (call.json) await call.terminal.printJson({ project: layout.project, figures: all });
  else if (all.length === 0) call.terminal.say("Nothing has been done yet.");
  else await call.terminal.printLines(lines(call, all));
  return EXIT.done;
}

/** Meshes in alphabetical order, each with its agents below it. */
export function figuresOf(facts: Iterable<Fact>): WorkFigures[] {
  const all = new Map<string, WorkFigures>();
  const begun = new Map<string, number>();
  const of = (mesh: string, agent: string | null): WorkFigures => {
    const key = `${mesh}/${agent ?? ""}`;
    const seconds = { sum: 0, longest: 0 };
    const found = all.get(key) ?? { mesh, agent, done: 0, failed: 0, seconds, sessions: 0, refused: 0 };
    all.set(key, found);
    return found;
  };
  for (const { type, data, ts } of facts) {
    if (type === "mesh.gate" && !data.ok) of(data.mesh, null).refused++;
    if (type === "mesh.session" && data.state === "starting") of(data.mesh, data.agent).sessions++;
    if (type !== "mesh.activated" && type !== "mesh.completed" && type !== "mesh.failed") continue;
    const task = `${data.mesh}/${data.agent ?? ""}/${data.name}`;
    if (type === "mesh.activated") {
      begun.set(task, ts);
      continue;
    }
    const figures = of(data.mesh, data.agent);
    figures[type === "mesh.completed" ? "done" : "failed"]++;
    const took = Math.max(0, ts - (begun.get(task) ?? ts));
    begun.delete(task);
    figures.seconds = { sum: figures.seconds.sum + took, longest: Math.max(figures.seconds.longest, took) };
  }
  const key = ({ mesh, agent }: WorkFigures) => `${mesh}/${agent ?? ""}`;
  return [...all.values()].toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function lines({ terminal: { paint, columns } }: TxCall, all: readonly WorkFigures[]): string[] {
  const titles = ["", "DONE", "FAILED", "REFUSED", "ON AVERAGE", "LONGEST", "IN ALL", "SESSIONS"];
  const head = titles.map((text): Cell => ({ text, paint: paint.dim }));
  const rows = all.map((one): Cell[] => {
    const ended = one.done + one.failed;
    const name = one.agent === null ? { text: one.mesh, paint: paint.bold } : { text: `  ${one.agent}` };
    return [
      name,
      { text: String(one.done) },
      { text: String(one.failed), ...(one.failed > 0 && { paint: paint.red }) },
      { text: one.agent === null ? String(one.refused) : "" },
      { text: ended === 0 ? "-" : span(one.seconds.sum / ended) },
      { text: ended === 0 ? "-" : span(one.seconds.longest) },
      { text: span(one.seconds.sum) },
      { text: one.agent === null ? "" : String(one.sessions) },
    ];
  });
  return table([head, ...rows], columns);
}
