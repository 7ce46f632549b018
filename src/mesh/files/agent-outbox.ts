import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { watchFolder } from "../../store/disk/watch-folder.ts";
import type { Layout, MeshAddress } from "./layout.ts";
import { type NewMessage, putMessage } from "./new-message.ts";

export type SendOutcome =
  | { kind: "taken"; name: string }
  /** It cannot go anywhere; why, in words for its sender. */
  | { kind: "refused"; reason: string }
  /** Nobody has taken it yet: the meshes are not at work. It waits in the outbox until they are. */
  | { kind: "waiting"; name: string };

/** Sends a message from an agent, as a file in its outbox; resolves when its outcome is known. */
export async function sendFromAgent(
  layout: Layout,
  address: MeshAddress & { agent: string },
  at: Date,
  message: Omit<NewMessage, "from">,
): Promise<SendOutcome> {
  const isEnd = message.type === "task-complete" || message.type === "error";
  // An end names its task, so that one that is said twice ends nothing else.
  const ended = isEnd && message.to === "mesh" ? activeOf(layout, address) : undefined;
  const said = { ...(ended !== undefined && { answers: ended }), ...message };
  const name = putMessage(layout, address, "outbox", at, { ...said, from: `${address.mesh}/${address.agent}` });
  if (!(await leaves(layout.queue(address, "outbox"), name))) return { kind: "waiting", name };
  const aside = layout.queue(address, "quarantine");
  if (!existsSync(join(aside, name))) return { kind: "taken", name };
  const reason = await readFile(join(aside, name.replace(/\.md$/, ".reason.md")), "utf8").catch(() => "");
  const file = join(relative(layout.project, aside), name);
  return { kind: "refused", reason: `${reason.trim() || "It was not understood."}\nYour message was kept in ${file}` };
}

/** The agent's active task, which its end names. */
function activeOf(layout: Layout, address: MeshAddress): string | undefined {
  const dir = layout.queue(address, "active");
  const [name] = existsSync(dir) ? readdirSync(dir).filter((one) => one.endsWith(".md") && !one.startsWith(".")) : [];
  return name?.replace(/\.md$/, "");
}

const PATIENCE_MS = 3_000;

/** False if it is still there after a while. */
async function leaves(dir: string, name: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const look = () => {
    if (!existsSync(join(dir, name))) resolve(true);
  };
  const watcher = watchFolder(dir, look);
  const timer = setTimeout(() => resolve(!existsSync(join(dir, name))), PATIENCE_MS);
  look();
  try {
    const isGone = await promise;
    // The reason is written right after the file was moved.
    if (isGone) await new Promise((resolve) => setTimeout(resolve, 20));
    return isGone;
  } finally {
    clearTimeout(timer);
    watcher.close();
  }
}
