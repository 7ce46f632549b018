import { relative } from "node:path";
import type { Layout, MeshAddress } from "../../mesh/files/layout.ts";
import { addressName } from "../../mesh/files/layout.ts";
import { type EndedTask, endWords } from "../../mesh/running/end-words.ts";
import type { Fact } from "../../protocol/index.ts";
import { mayRun } from "../../runtime/meshes/trust.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { declaredMesh, layoutOf, parsedAddress, startedMeshes, type TxCall } from "./project.ts";
import { allFacts, followProject, meshOf, type ProjectRecord, projectRecordOf } from "./project-record.ts";

/** How a task ended, and its result text, as far as it is recorded. */
interface TaskEnd extends EndedTask {
  gist: string;
  ts: number;
}

/** Prints the result of a task: the named one, or the last one of a mesh or an agent. */
export async function result(call: TxCall, to: string, task: string | undefined): Promise<ExitCode> {
  const layout = layoutOf(call);
  const address = await parsedAddress(layout, to);
  const { log } = await projectRecordOf(call, layout);
  let last: TaskEnd | undefined;
  for await (const fact of allFacts(log)) {
    const end = endIn(fact, address);
    if (end && (task === undefined || isNamed(end.name, task))) last = end;
  }
  if (last) return show(call, layout, last);
  const what = task === undefined ? `No task of ${to} has ended yet.` : `No task ${task} of ${to} has ended.`;
  throw new Refusal(`${what} To see what waits and who works: tx status ${address.mesh}`);
}

/** Checks what is needed to wait for a task that is sent now: the meshes run, and are trusted. */
export async function readyToWait(
  call: TxCall,
  mesh: string,
): Promise<{ record: ProjectRecord; after: number } | null> {
  const layout = layoutOf(call);
  const { view } = await startedMeshes(call, layout);
  const found = view.meshes.find((one) => one.mesh === mesh);
  if (found && !mayRun(found.trust)) return null;
  const record = await projectRecordOf(call, layout);
  return { record, after: record.log.seq };
}

/** Waits until a task that was sent has ended, and prints its result. */
export async function waitFor(
  call: TxCall,
  { record, after }: { record: ProjectRecord; after: number },
  address: MeshAddress,
  task: string,
): Promise<ExitCode> {
  const layout = layoutOf(call);
  const { roster } = await record.situation();
  const end = await followProject(call, record.log, after, async (fact) => {
    if (meshOf(fact, roster) === address.mesh) sayIfNeeded(call, fact);
    return endIn(fact, address, task);
  });
  if (end) return show(call, layout, end);
  call.terminal.say(`The task continues. To see its result later: tx result ${addressName(address)}`);
  return EXIT.interrupted;
}

/** What keeps a task waiting until a person does something. */
function sayIfNeeded({ terminal }: TxCall, fact: Fact): void {
  const yellow = terminal.errPaint.yellow("!");
  if (fact.type === "human.question") terminal.say(`${yellow} ${fact.data.text}\n  Answer: agiraph inbox`);
  if (fact.type === "message.sent" && fact.data.mesh_session) terminal.say(`${yellow} ${fact.data.text}`);
}

export async function show({ terminal, json }: TxCall, layout: Layout, end: TaskEnd): Promise<ExitCode> {
  const { mesh, agent, name, failed, gist, ts } = end;
  const declared = await declaredMesh(layout, mesh);
  const words = endWords(layout, declared, end) ?? gist;
  const output = relative(layout.project, layout.output(mesh));
  if (json) await terminal.printJson({ mesh, agent, task: name, failed, words, output, ts });
  else await terminal.printLines([words]);
  if (failed) terminal.say(`${name} failed. Its files are in ${output}`);
  return failed ? EXIT.failed : EXIT.done;
}

export function endIn({ type, data, ts }: Fact, { mesh, agent }: MeshAddress, task?: string): TaskEnd | undefined {
  const isEnd = type === "mesh.completed" || type === "mesh.failed" || type === "mesh.quarantined";
  if (!isEnd || data.mesh !== mesh || data.agent !== agent) return undefined;
  if (type === "mesh.quarantined" && task === undefined) return undefined;
  if (task !== undefined && !isNamed(data.name, task)) return undefined;
  const gist = type === "mesh.completed" ? data.gist : data.why;
  return { mesh, agent, name: data.name, failed: type !== "mesh.completed", gist, ts };
}

/** A task whose name was taken got a number (`t~2.md`). */
function isNamed(name: string, task: string): boolean {
  const stem = task.replace(/\.md$/, "");
  return name.replace(/\.md$/, "") === stem || name.replace(/(?:~\d+)?\.md$/, "") === stem;
}
