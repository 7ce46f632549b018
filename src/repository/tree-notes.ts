import { Lines } from "./diff-parse.ts";
import type { Mask } from "./person-objects.ts";
import { unquote } from "./unquote.ts";

/** What of a commit's tree a clone does not show: other repositories within it, and files whose content is on a server. */
export async function submodulesAndLfs(
  mask: Mask,
  commit: string,
): Promise<{ submodules: string[]; usesLfs: boolean }> {
  const submodules: string[] = [];
  const attributes: string[] = [];
  const lines = new Lines((line) => {
    const [fields = "", path = ""] = line.split("\t");
    const [mode, , object = ""] = fields.split(" ");
    if (mode === "160000" && submodules.length < MOST) submodules.push(unquote(path));
    if (/(?:^|\/)\.gitattributes$/.test(path) && attributes.length < MOST) attributes.push(object);
    return true;
  });
  await mask.run(["ls-tree", "-r", commit], { onOutput: (part) => lines.take(part), seconds: 300 });
  lines.flush();
  if (attributes.length === 0) return { submodules, usesLfs: false };
  const { stdout } = await mask.run(["cat-file", "--batch"], { stdin: `${attributes.join("\n")}\n` });
  return { submodules, usesLfs: /\bfilter=lfs\b/.test(stdout.toString("latin1")) };
}

const MOST = 1000;
