import { resolve } from "node:path";
import { Layout } from "../../mesh/layout.ts";
import { copyReady, readyMeshes } from "../../mesh/ready.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { folderOf, type TxCall, unknown } from "./project.ts";

/** Puts ready meshes into a project: those named, or all. What is there already stays as it is. */
export async function init(call: TxCall, names: string[]): Promise<ExitCode> {
  const { terminal, json, project } = call;
  const ready = await readyMeshes();
  const stranger = names.find((name) => !ready.includes(name));
  if (stranger !== undefined) throw new UsageError(unknown("ready mesh", stranger, ready));
  const meshes = names.length > 0 ? names : ready;
  const folder = resolve(folderOf(terminal), project ?? terminal.env.TX_PROJECT ?? ".");
  const { made, kept } = await copyReady(new Layout(folder), meshes);
  if (json) await terminal.printJson({ project: folder, meshes, made, kept });
  else await terminal.printLines(made);
  const stays = kept.length > 0 ? ` ${kept.length} were there already and are as they were.` : "";
  terminal.say(`${made.length} files written to ${folder} for ${meshes.join(", ")}.${stays}`);
  terminal.say(`They are yours to change. Begin: tx start, then tx send ${meshes[0]} "what is to be done"`);
  return EXIT.done;
}
