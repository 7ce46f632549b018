import { access, constants, open, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { SandboxFailure } from "../sandbox-failure.ts";
import { isBelow } from "./binds.ts";
import { shownOfPackage } from "./package-files.ts";

/**
 * What a sandbox must contain so that one of the user's programs runs in it: the program and its package, wherever they
 * are, its interpreter, and our own Node, which its scripts use.
 *
 * PROGRAM-BINDS-1. Only program files are visible: never a folder that contains the user's home, and no secrets in a
 *     folder where people work (`package-files.ts`).
 */
export async function programFiles(
  [command, ...args]: readonly [string, ...string[]],
  path: string,
): Promise<ProgramFiles> {
  const found = await locate(command, path);
  const read = new Set<string>();
  const nodeFolder = dirname(process.execPath);
  const show = async (file: string) => {
    const real = await realpath(file);
    for (const each of [...(await packageOf(real)), real, file]) {
      if (![...system, ...read].some((folder) => each === folder || isBelow(each, folder))) read.add(each);
    }
    return real;
  };
  const interpreter = await interpreterOf(await show(found), path);
  if (interpreter) await show(interpreter);
  // A script may be given to its interpreter by hand.
  for (const arg of args) if (isAbsolute(arg) && (await isFile(arg))) await show(arg);
  if (!system.some((folder) => isBelow(nodeFolder, folder))) read.add(nodeFolder);
  return { command: found, read: [...read], path: [nodeFolder, ...(interpreter ? [dirname(interpreter)] : [])] };
}

export interface ProgramFiles {
  /** Absolute. */
  command: string;
  /** To be bound for reading. */
  read: string[];
  /** Folders to be put first on the program's PATH. */
  path: string[];
}

/** There in every sandbox. */
const system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/run/current-system/sw"];

async function locate(command: string, path: string): Promise<string> {
  const candidates = isAbsolute(command)
    ? [command]
    : command.includes(sep)
      ? []
      : path
          .split(delimiter)
          .filter(isAbsolute)
          .map((folder) => join(folder, command));
  for (const candidate of candidates) if (await isProgram(candidate)) return candidate;
  throw new SandboxFailure(`The program ${command} was not found. Install it, or give its whole path in config.json.`);
}

const isFile = async (file: string) => (await stat(file).catch(() => null))?.isFile() === true;

const isProgram = async (file: string) =>
  (await isFile(file)) &&
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** All that was installed with it: the outermost node_modules, else the nearest folder that says it is a package. */
async function packageOf(file: string): Promise<string[]> {
  const parts = file.split(sep);
  const modules = parts.indexOf("node_modules");
  if (modules > 0) return [parts.slice(0, modules + 1).join(sep)];
  for (let folder = dirname(file), up = 0; up < 4 && folder !== dirname(folder); folder = dirname(folder), up++) {
    if (holdsHome(folder)) break;
    if (await isFile(join(folder, "package.json"))) return shownOfPackage(folder);
    if (await isFile(join(folder, "pyvenv.cfg"))) return [folder];
  }
  return [file];
}

const holdsHome = (folder: string) => folder === homedir() || isBelow(homedir(), folder);

/** Null for a binary, for what every sandbox has, and for Node, which is ours. */
async function interpreterOf(file: string, path: string): Promise<string | null> {
  const handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0).finally(() => handle.close());
  const line = /^#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(buffer.subarray(0, bytesRead).toString("utf8"));
  if (!line?.[1]) return null;
  const name = line[1].endsWith("/env") ? line[2] : line[1];
  if (!name || name === "node" || name.endsWith("/node")) return name && isAbsolute(name) ? outside(name) : null;
  const found = await locate(name, path).catch(() => null);
  return found && outside(found);
}

const outside = (file: string) => (system.some((folder) => isBelow(file, folder)) ? null : file);
