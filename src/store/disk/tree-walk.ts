import { type Folder, namesOf, WalkError } from "./folder.ts";
import { DEEPEST, type FolderChain } from "./folder-chain.ts";
import { TimeSlices } from "./time-slices.ts";

/**
 * A walk over a tree that other programs fill, breadth first, so that a limit cuts off the depths and not the overview.
 *
 * TREE-WALK-1. Every walk is limited in depth, folders and names, and reports what it did not visit.
 * TREE-WALK-2. It does not block the process: it yields every few milliseconds (time-slices.ts).
 * TREE-WALK-3. Below the root, a folder that is unreadable or has just disappeared counts as empty.
 */
export async function walkTree(
  chain: FolderChain,
  look: FolderVisitor,
  bounds: Partial<TreeBounds> = {},
): Promise<TreeCut> {
  const { deepest, namesInOne, ...most } = { ...DEFAULT_BOUNDS, ...bounds };
  const slices = new TimeSlices();
  const cut: TreeCut = { more: false, tooDeep: null };
  const queue: (readonly string[])[] = [[]];
  let names = 0;
  // Indexed rather than shifted: shifting a queue of many thousands moves all of them each time.
  for (let at = 0; at < queue.length; at++) {
    if (at >= most.folders || names >= most.names) return { ...cut, more: true };
    const parts = queue[at] ?? [];
    const found = await lookInto(chain, parts, Math.min(namesInOne, most.names - names), look, slices);
    if (slices.isDue) await slices.rest();
    if (!found) continue;
    names += found.looked;
    cut.more ||= found.more;
    if (found.folders === "stop") return { ...cut, more: true };
    const below = found.folders.map((name) => [...parts, name]);
    if (parts.length < deepest) queue.push(...below);
    else cut.tooDeep ??= below[0] ?? null;
  }
  return { ...cut, more: cut.more || cut.tooDeep !== null };
}

/**
 * Gets the names in one folder, sorted, and returns which of them are folders to visit. Pauses if it looks at each
 * name. Returns "stop" when it has seen enough.
 */
export type FolderVisitor = (
  folder: Folder,
  parts: readonly string[],
  names: readonly string[],
  slices: TimeSlices,
) => Promise<readonly string[] | "stop">;

export interface TreeBounds {
  deepest: number;
  folders: number;
  names: number;
  namesInOne: number;
}

export interface TreeCut {
  /** Something was left out. */
  more: boolean;
  /** The first folder that was left out because it lies too deep. */
  tooDeep: readonly string[] | null;
}

const DEFAULT_BOUNDS: TreeBounds = { deepest: DEEPEST, folders: 50_000, names: 200_000, namesInOne: 10_000 };

async function lookInto(
  chain: FolderChain,
  parts: readonly string[],
  most: number,
  look: FolderVisitor,
  slices: TimeSlices,
): Promise<{ looked: number; more: boolean; folders: readonly string[] | "stop" } | undefined> {
  try {
    const folder = chain.folderAt(parts);
    const { names, more } = await namesOf(folder, most, slices);
    return { looked: names.length, more, folders: await look(folder, parts, names.sort(), slices) };
  } catch (error) {
    if (parts.length > 0 && isClosed(error)) return undefined;
    throw error;
  }
}

/** A folder that may be read and not entered says so only of what is in it. */
function isClosed(error: unknown): boolean {
  return error instanceof WalkError || (error as NodeJS.ErrnoException).code === "EACCES";
}
