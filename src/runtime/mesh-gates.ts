import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DeclaredMesh } from "../mesh/config.ts";
import type { Layout } from "../mesh/layout.ts";
import type { Sandbox } from "../sandbox/index.ts";
import { filesBelow } from "./mesh-output.ts";

const MOST_MS = 600_000;

/** A named check of what a mesh has made: null is passed, words say what is wrong. Scripts are people's, and run in the sandbox all the same: they run what agents wrote. */
export async function runGate(
  layout: Layout,
  { config: { mesh } }: DeclaredMesh,
  gate: string,
  sandbox: () => Promise<Sandbox>,
  signal: AbortSignal,
): Promise<string | null> {
  const output = layout.output(mesh);
  const script = await readFile(join(layout.gates, `${gate}.sh`), "utf8").catch(() => undefined);
  if (script === undefined && gate === "output-exists") {
    return (await filesBelow(output)).length > 0 ? null : "There is no file in shared/output/.";
  }
  if (script === undefined) return `There is no meshes/gates/${gate}.sh any more.`;
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
    binds: { write: [output], read: [layout.project], hide: [] },
    env: { TX_MESH: mesh, TX_PROJECT: layout.project, TX_OUTPUT: output },
    timeoutMs: MOST_MS,
    signal,
  });
  if (code === 0) return null;
  const why = timedOut ? "It took too long." : exceeded ? `It used too much ${exceeded}.` : `It ended with ${code}.`;
  return `${why}\n\n${said.trim().slice(-4000)}`;
}
