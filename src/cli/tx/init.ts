import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundledMeshes, copyBundled } from "../../mesh/declaration/bundled-meshes.ts";
import { readDeclared } from "../../mesh/declaration/declared-mesh.ts";
import { Layout } from "../../mesh/files/layout.ts";
import { missingPrograms } from "../../runtime/meshes/runs-as.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import { type TxCall, unknown } from "./project.ts";

/** Copies bundled meshes into a project: those named, or all. Existing files are left as they are. */
export async function init(
  call: TxCall,
  names: string[],
  { gitignore = false }: { gitignore?: boolean },
): Promise<ExitCode> {
  const { terminal, json, project } = call;
  const bundled = await bundledMeshes();
  const stranger = names.find((name) => !bundled.includes(name));
  if (stranger !== undefined) throw new UsageError(unknown("bundled mesh", stranger, bundled));
  const meshes = names.length > 0 ? names : bundled;
  const folder = resolve(terminal.cwd, project ?? terminal.env.TX_PROJECT ?? ".");
  const { made, kept } = await copyBundled(new Layout(folder), meshes);
  const ignored = gitignore ? ignoreRunning(folder) : undefined;
  if (json) await terminal.printJson({ project: folder, meshes, made, kept, ...(gitignore && { ignored }) });
  else await terminal.printLines(made);
  const stays = kept.length > 0 ? ` ${kept.length} existing ones were left unchanged.` : "";
  terminal.say(`${made.length} files written to ${folder} for ${meshes.join(", ")}.${stays}`);
  if (gitignore) terminal.say(ignored ? "Added .ai/ to .gitignore." : ".gitignore already has .ai/.");
  else if (existsSync(join(folder, ".git")) && !isIgnored(folder))
    terminal.say("Meshes work in .ai/. To keep it out of git: tx init --gitignore");
  const { able, lacks } = await whoCan(call, new Layout(folder), meshes);
  if (lacks.length > 0) terminal.say(`${terminal.errPaint.yellow("!")} Not installed: ${lacks.join("; ")}.`);
  terminal.say(`They are yours to change. Begin: tx start, then tx send ${able ?? meshes[0]} "what is to be done"`);
  return EXIT.done;
}

/** False if it was there already. */
function ignoreRunning(folder: string): boolean {
  if (isIgnored(folder)) return false;
  const before = ignoreFile(folder);
  appendFileSync(join(folder, ".gitignore"), `${before === "" || before.endsWith("\n") ? "" : "\n"}.ai/\n`);
  return true;
}

function isIgnored(folder: string): boolean {
  return ignoreFile(folder)
    .split("\n")
    .some((line) => /^\/?\.ai(\/(\*{1,2})?)?$/.test(line.trim()));
}

function ignoreFile(folder: string): string {
  const path = join(folder, ".gitignore");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** The first mesh that can run on this machine, and which programs the others lack. */
async function whoCan(call: TxCall, layout: Layout, meshes: readonly string[]) {
  // A mistake in config.json is reported when they are started.
  const settings = await settingsOf(call).catch(() => ({ env: call.terminal.env, config: {} }));
  const { meshes: declared } = await readDeclared(layout);
  const missing = meshes.flatMap((mesh) => {
    const its = declared.get(mesh);
    return its ? [{ mesh, programs: missingPrograms(its, settings) }] : [];
  });
  const programs = [...new Set(missing.flatMap((each) => each.programs))];
  const whoNeeds = (program: string) => missing.flatMap((each) => (each.programs.includes(program) ? [each.mesh] : []));
  return {
    able: missing.find((each) => each.programs.length === 0)?.mesh,
    lacks: programs.map((program) => `${program} (needed by ${whoNeeds(program).join(", ")})`),
  };
}
