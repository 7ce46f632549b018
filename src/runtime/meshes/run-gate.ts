import { type DeclaredMesh, gateFile } from "../../mesh/declaration/declared-mesh.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { projectBinds } from "../../store/scope/project-binds.ts";
import { filesBelow } from "./output-files.ts";

const MOST_MS = 600_000;

/**
 * Runs a named check of a mesh's result. Null if it passed; otherwise what is wrong. The scripts are written by people,
 * but run in the sandbox, because they run what agents wrote.
 */
export async function runGate(
  layout: Layout,
  { config: { mesh }, sources }: DeclaredMesh,
  gate: string,
  { sandbox, home }: { sandbox(): Promise<Sandbox>; home: string },
  signal: AbortSignal,
): Promise<string | null> {
  const output = layout.output(mesh);
  // As read with the declaration: what a person has trusted, whatever the file says by now.
  const script = sources.get(gateFile(gate))?.text;
  if (script === undefined && gate === "output-exists") {
    return (await filesBelow(output)).length > 0 ? null : "There is no file in shared/output/.";
  }
  if (script === undefined) return `There is no ${gateFile(gate)}.`;
  const confined = await sandbox();
  if (confined.kind === "none") return `It could not be run: ${confined.about}`;
  const {
    code,
    output: said,
    timedOut,
    exceeded,
  } = await confined.run({
    command: script,
    cwd: output,
    binds: { write: [output], read: [], ...(await projectBinds(layout.project, home)) },
    env: { TX_MESH: mesh, TX_PROJECT: layout.project, TX_OUTPUT: output },
    timeoutMs: MOST_MS,
    signal,
  });
  if (code === 0) return null;
  const why = timedOut
    ? "It took too long."
    : exceeded
      ? `It used more ${exceeded} than it is allowed.`
      : `It ended with ${code}.`;
  return `${why}\n\n${said.trim().slice(-4000)}`;
}
