import { visible } from "../../../src/protocol/visible.ts";

export { visible, visibleLines } from "../../../src/protocol/visible.ts";

/** The last part of a path, by which people call a project. */
export function folderOf(path: string): string {
  return visible(path.split("/").at(-1) || path);
}
