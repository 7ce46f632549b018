import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Layout } from "../files/layout.ts";

/** The meshes that have a config file, valid or not, and their further instances. */
export async function declaredNames(layout: Layout): Promise<string[]> {
  const names = await readdir(layout.configs).catch(none);
  const files = names.filter((name) => name.endsWith(".json") && !name.startsWith("."));
  const meshes = files.map((name) => name.slice(0, -".json".length));
  const others = await Promise.all(meshes.map((mesh) => instancesOf(layout, mesh)));
  return [...new Set([...meshes, ...others.flat()])].toSorted();
}

/** The names beside its own. A file that cannot be read has none; what is wrong with it is reported when it is read as a whole. */
async function instancesOf(layout: Layout, mesh: string): Promise<string[]> {
  const text = await readFile(join(layout.configs, `${mesh}.json`), "utf8").catch(() => "");
  const [, count] = /"instances"\s*:\s*(\d{1,2})\b/.exec(text) ?? [];
  if (count === undefined) return [];
  return Array.from({ length: Math.min(Number(count), MOST_INSTANCES) - 1 }, (_, at) => `${mesh}-${at + 2}`);
}

const MOST_INSTANCES = 20;

/** The mesh that this is an instance of, by its name; undefined if it has a config file of its own. */
export function originOf(layout: Layout, name: string): { mesh: string; number: number } | undefined {
  const [, mesh, number] = /^(.+)-([2-9]|1\d|20)$/.exec(name) ?? [];
  if (mesh === undefined || existsSync(join(layout.configs, `${name}.json`))) return undefined;
  return existsSync(join(layout.configs, `${mesh}.json`)) ? { mesh, number: Number(number) } : undefined;
}

function none(error: NodeJS.ErrnoException): [] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}
