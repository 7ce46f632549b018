import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DeclaredMesh } from "./config.ts";
import type { Layout, Place } from "./layout.ts";
import { stampOf } from "./message-file.ts";

/** The folders of a mesh beside its queues (seed 004, "Directory Structure"). */
export function makeFolders(layout: Layout, { config: { mesh, storage }, agents }: DeclaredMesh): void {
  const concepts = join(layout.mesh(mesh), storage?.concepts_path ?? join("shared", "concepts"));
  for (const dir of [layout.output(mesh), concepts]) mkdirSync(dir, { recursive: true });
  for (const agent of agents.keys()) {
    mkdirSync(layout.prompts(mesh, agent), { recursive: true });
    mkdirSync(layout.workspace(mesh, agent), { recursive: true });
  }
}

/** Puts the running folder of a mesh away, whole, by one rename. Where it is now. */
export function putAway(layout: Layout, mesh: string, now: number): string {
  mkdirSync(layout.archive, { recursive: true });
  for (let number = 1; ; number++) {
    const away = join(layout.archive, `${stampOf(new Date(now))}-${String(number).padStart(4, "0")}-${mesh}`);
    if (existsSync(away)) continue;
    renameSync(layout.mesh(mesh), away);
    return away;
  }
}

/** What came between the last look and the rename goes back to where it was sent. True when there was something. */
export function takeBack(layout: Layout, { config: { mesh }, agents }: DeclaredMesh, away: string): boolean {
  let found = false;
  const places: Place[] = [{ mesh, agent: null }, ...[...agents.keys()].map((agent) => ({ mesh, agent }))];
  for (const place of places) {
    for (const queue of ["inbox", "outbox"] as const) {
      const now = layout.queue(place, queue);
      const then = join(away, now.slice(layout.mesh(mesh).length));
      for (const name of existsSync(then) ? readdirSync(then) : []) {
        mkdirSync(now, { recursive: true });
        renameSync(join(then, name), join(now, name));
        found = true;
      }
    }
  }
  return found;
}

/** What a process that died was writing aside. Others write aside here too, so only what is old goes. */
export function clearTmp(layout: Layout): void {
  const tmp = join(layout.running, "tmp");
  for (const name of existsSync(tmp) ? readdirSync(tmp) : []) {
    const written = statSync(join(tmp, name), { throwIfNoEntry: false })?.mtimeMs;
    if (written !== undefined && Date.now() - written > OLD_MS) rmSync(join(tmp, name), { force: true });
  }
}

const OLD_MS = 600_000;

export function isMade(dir: string): boolean {
  return existsSync(dir);
}
