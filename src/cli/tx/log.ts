import type { Fact } from "../../protocol/index.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { factLine } from "../wording/fact-line.ts";
import { timestamp } from "../wording/format.ts";
import { jsonLine } from "../wording/json-line.ts";
import { cutToWidth } from "../wording/width.ts";
import { declaredMesh, layoutOf, type TxCall } from "./project.ts";
import { allFacts, followProject, meshOf, projectRecordOf } from "./project-record.ts";

/** Messages between people, meshes and agents, each with its outcome. */
export async function log(
  call: TxCall,
  mesh: string | undefined,
  { follow = false, limit = 50 }: { follow?: boolean; limit?: number },
): Promise<ExitCode> {
  const layout = layoutOf(call);
  if (mesh !== undefined) await declaredMesh(layout, mesh);
  const { log: facts, situation } = await projectRecordOf(call, layout);
  const { roster } = await situation();
  const isMeant = (fact: Fact) => isNews(fact) && (mesh === undefined || meshOf(fact, roster) === mesh);
  let newest: Fact[] = [];
  let seq = 0;
  for await (const fact of allFacts(facts)) {
    seq = fact.seq;
    if (isMeant(fact)) newest = [...newest, fact].slice(-Math.max(limit, 1));
  }
  await call.terminal.print((limit === 0 ? [] : newest).map((fact) => lineFor(call, fact)).join(""));
  if (!follow) return EXIT.done;
  await followProject(call, facts, seq, async (fact) => {
    if (isMeant(fact)) await call.terminal.print(lineFor(call, fact));
    return undefined;
  });
  return EXIT.interrupted;
}

/** That a file moved up is not news, nor that a session is busy or idle. */
export function isNews(fact: Fact): boolean {
  if (fact.type === "mesh.session") return ["dialog", "dead", "broken"].includes(fact.data.state);
  return NEWS.has(fact.type);
}

const NEWS: ReadonlySet<Fact["type"]> = new Set([
  ...(["mesh.received", "mesh.completed", "mesh.failed", "mesh.undelivered", "mesh.quarantined"] as const),
  ...(["mesh.gate", "mesh.stalled", "mesh.held", "human.question", "human.response", "message.sent"] as const),
]);

function lineFor({ json, terminal }: TxCall, fact: Fact): string {
  if (json) return jsonLine(fact);
  const head = `${timestamp(fact.ts)}  `;
  return `${terminal.paint.dim(head)}${cutToWidth(factLine(fact), Math.max(20, terminal.lineColumns - head.length))}\n`;
}
