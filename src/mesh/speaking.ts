import { existsSync, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Layout, Place } from "./layout.ts";
import { type Outgoing, putMessage } from "./outgoing.ts";

export type Said =
  | { kind: "taken"; name: string }
  /** It is no message that could go anywhere; why, in words for whoever said it. */
  | { kind: "refused"; reason: string }
  /** Nobody has taken it yet: the meshes are not at work. It lies in the outbox and goes out when they are. */
  | { kind: "waiting"; name: string };

/** What an agent says, by a file in its outbox; resolves when it is known what became of it. */
export async function sayFrom(
  layout: Layout,
  place: Place & { agent: string },
  at: Date,
  message: Omit<Outgoing, "from">,
): Promise<Said> {
  const name = putMessage(layout, place, "outbox", at, { ...message, from: `${place.mesh}/${place.agent}` });
  if (!(await leaves(layout.queue(place, "outbox"), name))) return { kind: "waiting", name };
  const reason = join(layout.queue(place, "quarantine"), name.replace(/\.md$/, ".reason.md"));
  if (!existsSync(join(layout.queue(place, "quarantine"), name))) return { kind: "taken", name };
  return { kind: "refused", reason: (await readFile(reason, "utf8").catch(() => "It was not understood.")).trim() };
}

const PATIENCE_MS = 3_000;

/** False when it is still there after a while. */
async function leaves(dir: string, name: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const look = () => {
    if (!existsSync(join(dir, name))) resolve(true);
  };
  const watcher = watch(dir, look);
  watcher.on("error", look);
  const timer = setTimeout(() => resolve(!existsSync(join(dir, name))), PATIENCE_MS);
  look();
  try {
    const isGone = await promise;
    // The reason is written right after the file was moved.
    if (isGone) await new Promise((settle) => setTimeout(settle, 20));
    return isGone;
  } finally {
    clearTimeout(timer);
    watcher.close();
  }
}
