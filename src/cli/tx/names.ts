import { bundledMeshes } from "../../mesh/declaration/bundled-meshes.ts";
import { readDeclared } from "../../mesh/declaration/declared-mesh.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { layoutOf, type TxCall } from "./project.ts";

/** For shell completion: what may come next after these words. Read from files, without a server; silent on failure. */
export async function names(call: TxCall, [command = "", ...words]: string[]): Promise<ExitCode> {
  const given = words.filter((word) => !word.startsWith("-"));
  await call.terminal.printLines(await candidates(call, command, given).catch(() => []));
  return EXIT.done;
}

async function candidates(call: TxCall, command: string, [first, second]: string[]): Promise<string[]> {
  if (command === "init") return bundledMeshes();
  if (command === "completion") return first === undefined ? ["bash", "zsh", "fish"] : [];
  const { meshes } = await readDeclared(layoutOf(call));
  const agents = (mesh: string) => [...(meshes.get(mesh)?.agents.keys() ?? [])];
  if (command === "send" || command === "ask" || command === "result" || command === "chat") {
    if (first !== undefined) return [];
    const own = call.speaker ? agents(call.speaker.mesh) : [];
    const all = [...meshes.keys()].flatMap((mesh) => [mesh, ...agents(mesh).map((agent) => `${mesh}/${agent}`)]);
    return [...own, ...all, ...(command === "ask" ? ["human"] : [])];
  }
  if (!TAKES_MESH.has(command) || second !== undefined) return [];
  if (first === undefined) return [...meshes.keys()];
  return TAKES_AGENT.has(command) ? agents(first) : [];
}

const TAKES_MESH = new Set([
  "status",
  "log",
  "stats",
  "trust",
  "untrust",
  "spawn",
  "attach",
  "kill",
  "prompt",
  "archive",
]);
const TAKES_AGENT = new Set(["spawn", "attach", "kill", "prompt"]);
