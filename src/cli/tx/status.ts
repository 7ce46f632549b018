import { type DeclaredMesh, readDeclared } from "../../mesh/declaration/declared-mesh.ts";
import { addressName, type Layout, QUEUES } from "../../mesh/files/layout.ts";
import { Queues } from "../../mesh/files/queue.ts";
import { type MeshProblem, problemWords } from "../../projections/index.ts";
import type { MeshProjectView, MeshView } from "../../protocol/api/meshes.ts";
import { fileChangeWords } from "../../runtime/meshes/trust-text.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { type Cell, table } from "../wording/table.ts";
import { plain } from "../wording/width.ts";
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
  sayProblems(
    call,
    problems.map(({ file, message }) => ({ file, problem: message })),
  );
  await terminal.printLines(declared.flatMap((name) => waitingIn(layout, meshes.get(name)) ?? []));
  terminal.say(
    `The meshes of ${layout.project} are not started (tx start). Declared: ${declared.join(", ") || "none"}.`,
  );
  return EXIT.done;
}

/** Messages are files, so they can be shown without a server, too. */
function waitingIn(layout: Layout, declared: DeclaredMesh | undefined): string | undefined {
  if (!declared) return undefined;
  const { mesh } = declared.config;
  const words = [null, ...declared.agents.keys()].flatMap((agent) => {
    const queues = new Queues(layout, { mesh, agent });
    queues.look();
    const counts = queueWords(Object.fromEntries(QUEUES.map((queue) => [queue, queues.count(queue)])));
    return counts === "-" ? [] : [`${addressName({ mesh, agent })}: ${counts}`];
  });
  return words.length === 0 ? undefined : words.join("; ");
}

function sayProblems({ terminal }: TxCall, problems: readonly MeshProblem[]): void {
  for (const words of problemWords(problems)) terminal.say(`${terminal.errPaint.yellow("!")} ${plain(words)}`);
}

/** A table for each mesh; everything with --json. */
export async function showProject(call: TxCall, view: MeshProjectView): Promise<void> {
  const { terminal, json } = call;
  sayProblems(call, view.problems);
  if (json) {
    await terminal.printJson(view);
    return;
  }
  for (const mesh of view.meshes) await terminal.printLines(linesFor(call, mesh));
  for (const { mesh, trust } of view.meshes) {
    const words = trustWords(mesh, trust);
    if (words !== undefined) terminal.say(`${terminal.errPaint.yellow("!")} ${words}`);
  }
}

function linesFor({ terminal: { paint, columns } }: TxCall, mesh: MeshView): string[] {
  const head: Cell[] = ["AGENT", "RUNS", "QUEUES", "DOES"].map((text) => ({ text, paint: paint.dim }));
  const now = Date.now() / 1000;
  const rows = mesh.agents.map((agent): Cell[] => [
    { text: agent.name, paint: paint.bold },
    { text: `${agent.runs} ${agent.program}` },
    { text: queueWords(agent.queues) },
    { text: plain(doing(mesh.mesh, agent, now)), paint: paintFor(agent.state, paint) },
  ]);
  const about = `${mesh.topology}, ${mesh.lifetime}, ${mesh.status}, ${mesh.tasks_completed} done`;
  const queues = queueWords(mesh.queues);
  const { last_end: last } = mesh;
  return [
    `${paint.bold(mesh.mesh)} (${about})${queues === "-" ? "" : ` ${queues}`}${mesh.active ? ` on ${mesh.active}` : ""}`,
    ...(last?.failed ? [paint.red(`  ${last.task} failed ${ago(last.at, now)}: ${plain(last.words)}`)] : []),
    ...failuresIn(mesh, now).map((line) => paint.red(`  ${line}`)),
    ...table([head, ...rows], columns - 2).map((line) => `  ${line}`),
  ];
}

/** Tasks of the person's own that failed, until they have seen it, or the task is done after all. */
function failuresIn({ failures, last_end: last }: MeshView, now: number): string[] {
  const others = failures.filter(({ agent, task }) => agent !== null || task !== last?.task || !last.failed);
  const shown = others.slice(-MOST_FAILURES).map(({ text, at }) => `failed ${ago(at, now)}: ${plain(text)}`);
  const more = others.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more: agiraph inbox`] : shown;
}

const MOST_FAILURES = 5;

/** What a person has to decide before more of a mesh runs. */
function trustWords(
  mesh: string,
  { status, terminals, wants_terminals, changes }: MeshView["trust"],
): string | undefined {
  if (status === "untrusted") return `${mesh} is not trusted yet: none of it runs. Review it: tx trust ${mesh}`;
  if (status === "changed")
    return `${mesh} has changed since you trusted it: its new content does not run (${fileChangeWords(changes)}). Review it: tx trust ${mesh}`;
  if (!terminals && wants_terminals)
    return `${mesh} runs in the sandbox, without terminals. To allow them: tx trust ${mesh} --terminals`;
  return undefined;
}

type MeshAgent = MeshView["agents"][number];

/** What an agent is doing, for how long, and what a person can do about it. */
function doing(mesh: string, agent: MeshAgent, now: number): string {
  const { name, runs, state, since, detail, problem, active, active_since } = agent;
  const again = runs === "tmux" ? `tx spawn ${mesh} ${name}` : "tx stop, then tx start";
  const long = since === null ? "" : ` for ${span(now - since)}`;
  const why = detail === null ? "" : `: ${detail}`;
  const task = active === null ? "" : `${active}${active_since === null ? "" : `, ${span(now - active_since)}`}`;
  switch (state) {
    case null:
      if (problem !== null) return "cannot begin, see above";
      return active === null ? "-" : `has not begun ${task}`;
    case "starting":
      return `is starting${long}`;
    case "dialog":
      return `asks something${long}: tx attach ${mesh} ${name}`;
    case "broken":
      return `broken${long}${why} Then: tx spawn ${mesh} ${name}`;
    case "dead":
      return `dead${long}${why}${active === null ? "" : ` (has ${task}; ${again} begins it again)`}`;
    case "gone":
      return `ended ${since === null ? "" : ago(since, now)}${active === null ? "" : `, has ${task}`}`;
    case "busy":
      return active === null ? `busy${long}` : `works on ${task}`;
    case "ready":
    case "idle":
      return active === null ? `idle${long}` : `works on ${task} (quiet${long})`;
  }
}

function ago(at: number, now: number): string {
  return `${span(now - at)} ago`;
}

/** A duration as people say it. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 2 * 3600) return `${Math.round(whole / 60)} min`;
  return whole < 2 * 86_400 ? `${Math.round(whole / 3600)} h` : `${Math.round(whole / 86_400)} days`;
}

function queueWords(counts: Readonly<Record<string, number>>): string {
  const filled = QUEUES.filter((queue) => (counts[queue] ?? 0) > 0).map((queue) => `${queue} ${counts[queue]}`);
  return filled.join(", ") || "-";
}

function paintFor(state: string | null, paint: TxCall["terminal"]["paint"]): (text: string) => string {
  if (state === "dead" || state === "broken") return paint.red;
  if (state === "dialog") return paint.yellow;
  return state === "busy" ? paint.green : (text) => text;
}
