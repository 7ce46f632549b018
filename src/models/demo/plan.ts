import type { Site } from "./scout.ts";
import { isForeign, type Place } from "./survey.ts";

const MOST_PARTS = 3;
const SMALL = 12;
const MOST_GROUPS = 60;
/** No part reads more than this, so more files do not make it heavier. */
export const MOST_READ = 40;

/** Who surveys what: one part for a small folder, up to three of about the same weight for a larger one. */
export function partsOf(sites: readonly Site[]): Place[][] {
  const whole = [sites.map(({ place }) => place)];
  const groups = sites.flatMap(groupsIn);
  const files = groups.reduce((sum, group) => sum + group.files, 0);
  const folders = groups.filter(({ place, files }) => place.reach === "deep" && files > 0).length;
  const isLarge = files > SMALL || (files > SMALL / 2 && folders >= MOST_PARTS);
  const filled = groups.filter((group) => group.files > 0).length;
  if (!isLarge || filled < 2 || groups.length > MOST_GROUPS) return whole;
  const parts = Array.from({ length: Math.min(MOST_PARTS, filled) }, (): { weight: number; places: Place[] } => ({
    weight: 0,
    places: [],
  }));
  for (const { place, files } of groups.toSorted(
    (a, b) => b.files - a.files || (a.place.path < b.place.path ? -1 : 1),
  )) {
    const lightest = parts.reduce((least, part) => (part.weight < least.weight ? part : least));
    lightest.places.push(place);
    lightest.weight += Math.min(files, MOST_READ);
  }
  return parts.map(({ places }) => places.toSorted(byPath)).sort(([a], [b]) => (a && b ? byPath(a, b) : 0));
}

interface Group {
  place: Place;
  files: number;
}

/** The folders of a site, and its own files as one more group. */
function groupsIn({ place, entries }: Site): Group[] {
  if (place.reach !== "deep") return [{ place, files: 1 }];
  const base = trunkOf(place.path, entries);
  const files = entries.filter(({ kind }) => kind === "file");
  const folders = entries.filter(({ path, kind }) => kind === "folder" && isChild(path, base) && !isForeign(path));
  const own = files.filter(({ path }) => isChild(path, base)).length;
  const inFolders = folders.map(
    ({ path }): Group => ({
      place: { path, reach: "deep" },
      files: files.filter((file) => file.path.startsWith(`${path}/`)).length,
    }),
  );
  return [
    ...(own > 0 || inFolders.length === 0 ? [{ place: { path: base, reach: "own" as const }, files: own }] : []),
    ...inFolders,
  ];
}

/** Below a chain of folders that hold nothing but the next one. */
function trunkOf(path: string, entries: Site["entries"]): string {
  const [only, ...others] = entries.filter((entry) => isChild(entry.path, path));
  return only?.kind === "folder" && others.length === 0 ? trunkOf(only.path, entries) : path;
}

function isChild(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`) && !path.includes("/", folder.length + 1);
}

function byPath(a: Place, b: Place): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
