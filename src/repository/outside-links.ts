import { posix } from "node:path";
import { objectId } from "./names.ts";
import { isGitName } from "./path-rules.ts";
import type { TreeRunner } from "./tree-check.ts";

/**
 * The first symbolic link of these commits that leads out of the repository and that the person's own commits do not
 * have. Only the named commits are looked at: those between them are never checked out.
 */
export async function linksOutside(
  run: TreeRunner,
  trusted: readonly string[],
  tips: readonly string[],
): Promise<string | undefined> {
  const [base, ...others] = trusted.map(objectId);
  for (const tip of tips) {
    let suspects = (await newLinks(run, base, tip)).filter(({ path, target }) => isOutside(path, target));
    for (const other of others) {
      if (suspects.length === 0) break;
      const unknown = new Set((await newLinks(run, other, tip)).map(({ path }) => path));
      suspects = suspects.filter(({ path }) => unknown.has(path));
    }
    const [found] = suspects;
    if (found) return `${found.path} → ${found.target}`.slice(0, 300);
  }
  return undefined;
}

const MOST_TARGET = 4096;

interface Link {
  path: string;
  target: string;
}

async function newLinks(run: TreeRunner, from: string | undefined, tip: string): Promise<Link[]> {
  const args =
    from === undefined
      ? ["ls-tree", "-r", "-z", "--format=%(objectmode) %(objectmode) %(objectname) %(objectname) A%x00%(path)", tip]
      : ["diff-tree", "-r", "-z", "--no-commit-id", "--raw", "--no-renames", "--no-abbrev", from, tip];
  const { stdout } = await run(args, { maxBytes: 256 * 1024 * 1024 });
  const fields = stdout.toString("latin1").split("\0");
  const found: { path: string; object: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode, , object = ""] = (fields[at] ?? "").split(" ");
    if (mode === "120000") found.push({ path: fields[at + 1] ?? "", object });
  }
  const targets = await contentsOf(run, [...new Set(found.map(({ object }) => object))]);
  return found.map(({ path, object }) => ({ path, target: targets.get(object) ?? "/" }));
}

async function contentsOf(run: TreeRunner, objects: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (objects.length === 0) return found;
  const stdin = `${objects.join("\n")}\n`;
  const sizes = (await run(["cat-file", "--batch-check=%(objectname) %(objectsize)"], { stdin })).stdout;
  const short = sizes
    .toString("latin1")
    .split("\n")
    .map((line) => line.split(" "))
    .flatMap(([id = "", size]) => (Number(size) <= MOST_TARGET && id !== "" ? [id] : []));
  if (short.length === 0) return found;
  const { stdout } = await run(["cat-file", "--batch"], { stdin: `${short.join("\n")}\n` });
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf(10, at);
    const [id = "", , size = "0"] = stdout.subarray(at, end).toString("latin1").split(" ");
    found.set(id, stdout.subarray(end + 1, end + 1 + Number(size)).toString("latin1"));
    at = end + 1 + Number(size) + 1;
  }
  return found;
}

/**
 * ".." after a name goes up from where a link of that name leads, which need not be where it lies, so only those at the
 * beginning can be followed without looking at the other links. A NUL would end the target earlier than we see.
 */
function isOutside(path: string, target: string): boolean {
  if (target === "" || target.startsWith("/") || /^[A-Za-z]:|[\\\0]/.test(target)) return true;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const down = parts.findIndex((part) => part !== "..");
  if (down >= 0 && parts.includes("..", down)) return true;
  const reached = posix.normalize(posix.join(posix.dirname(path), target));
  if (reached === ".." || reached.startsWith("../")) return true;
  return reached.split("/").some((part) => isGitName(Buffer.from(part, "latin1").toString("utf8")));
}
