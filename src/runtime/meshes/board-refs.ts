import { join, relative } from "node:path";
import type { Layout } from "../../mesh/files/layout.ts";
import { putFile, readPart } from "../../store/disk/foreign-folder.ts";
import { filesBelow, MOST_BYTES } from "./output-files.ts";

/** Copies what others published to where the agents of the mesh can read it. A line for each ref. */
export function bringRefs(
  refs: Readonly<Record<string, string>>,
  run: string,
  layout: Layout,
  { mesh, task }: { mesh: string; task: string },
): Promise<string[]> {
  const shared = layout.shared(mesh);
  const found = Object.entries(refs).map(async ([name, target]) => {
    const path = /^(?:nodes\/)?(node-\d+\/(?:published|inputs)(?:\/.*)?)$/.exec(target)?.[1];
    if (path === undefined) return `${name}: ${target}`;
    const files = (await filesBelow(join(run, "nodes", path))).map((file) => join(path, file));
    for (const file of files.length > 0 ? files : [path]) {
      const bytes = await readPart(join(run, "nodes"), file, 0, MOST_BYTES);
      if (bytes) await putFile(shared, join("refs", task, file), bytes);
    }
    return `${name}: \`${relative(layout.project, join(shared, "refs", task, path))}\``;
  });
  return Promise.all(found);
}
