import { type Conversation, madeTo } from "./conversation.ts";
import type { NamedPlace } from "./goal.ts";
import { code, enumeration, plain, shown } from "./markdown.ts";
import { act, listFiles, type Move, type PlannedCall } from "./move.ts";
import type { Place } from "./survey.ts";
import { type FolderText, type ListedEntry, readListing } from "./tool-text.ts";

/** What came of looking for the places that somebody named. */
export type Scouted =
  | { kind: "looking"; move: Move }
  /** There is no folder to read at all. */
  | { kind: "nothing"; why: string }
  | { kind: "found"; subject: string; sites: Site[]; remarks: string[] };

/** A place that is there, and what is in it. */
export interface Site {
  place: Place;
  entries: ListedEntry[];
  cut: boolean;
}

const PROJECT = "project";

/** Looks where it was told to; what is not there is looked for nearby, and else the whole project is taken. */
export function scout(named: readonly NamedPlace[], conversation: Conversation): Scouted {
  const wanted = named.length > 0 ? named : [{ written: "the project", path: PROJECT, sure: true }];
  const first = wanted
    .filter(({ path }) => !listing(conversation, path, true))
    .map(({ path }) => listFiles(path, true));
  if (first.length > 0) {
    return { kind: "looking", move: act(`I look at ${names(wanted)} first.`, ...first) };
  }
  const absent = wanted.filter(({ path }) => !listing(conversation, path, true)?.folder);
  const second = unmade(
    [
      ...absent.map(({ path }) => listFiles(parentOf(path), false)),
      ...(absent.length > 0 ? [listFiles(PROJECT, true)] : []),
    ],
    conversation,
  );
  if (second.length > 0) {
    return {
      kind: "looking",
      move: act(`${names(absent)} is no folder that I can list. I look around for it.`, ...second),
    };
  }
  const found = wanted.map((place) => ({ place, site: siteOf(place, conversation) }));
  const later = unmade(
    found.flatMap(({ site }) => (site?.place.reach === "deep" ? [listFiles(site.place.path, true)] : [])),
    conversation,
  );
  if (later.length > 0)
    return {
      kind: "looking",
      move: act("I found a folder of that name elsewhere in the project and look into it.", ...later),
    };
  return verdict(found, conversation);
}

interface Result {
  folder: FolderText | undefined;
  content: string;
}

/** What a listing said, if it was made; `folder` is missing when it was refused. */
function listing(conversation: Conversation, path: string, recursive: boolean): Result | undefined {
  const made = madeTo("list_files", conversation).findLast(
    ({ args }) => args.path === path && args.recursive === recursive,
  );
  if (!made) return undefined;
  const { ok, content } = made.result;
  return { folder: ok ? readListing(content) : undefined, content };
}

export function folderAt(conversation: Conversation, { path, reach }: Place): Result | undefined {
  return reach === "file"
    ? listing(conversation, parentOf(path), false)
    : listing(conversation, path, reach === "deep");
}

function unmade(calls: readonly PlannedCall[], conversation: Conversation): PlannedCall[] {
  const made = new Set(madeTo("list_files", conversation).map(({ args }) => `${args.recursive} ${args.path}`));
  const unique = new Map(calls.map((call) => [`${call.args.recursive} ${call.args.path}`, call]));
  return [...unique].flatMap(([key, call]) => (made.has(key) ? [] : [call]));
}

function siteOf({ path }: NamedPlace, conversation: Conversation): Site | undefined {
  const folder = listing(conversation, path, true)?.folder;
  if (folder) return { place: { path, reach: "deep" }, ...folder };
  const inParent = listing(conversation, parentOf(path), false)?.folder?.entries.find(
    (entry) => entry.path === path && entry.kind === "file",
  );
  if (inParent) return { place: { path, reach: "file" }, entries: [inParent], cut: false };
  const near = nearby(path, listing(conversation, PROJECT, true)?.folder?.entries ?? []);
  if (near?.kind === "file") return { place: { path: near.path, reach: "file" }, entries: [near], cut: false };
  if (!near) return undefined;
  const there = listing(conversation, near.path, true)?.folder;
  return { place: { path: near.path, reach: "deep" }, entries: there?.entries ?? [], cut: there?.cut ?? false };
}

/** The end of the path (people write it from elsewhere), in any case; or the only entry of that name. */
function nearby(path: string, entries: readonly ListedEntry[]): ListedEntry | undefined {
  const parts = path.toLowerCase().split("/").slice(1);
  if (parts.includes("..")) return undefined;
  const candidates = entries.filter(({ kind }) => kind !== "other");
  for (let from = 0; from < parts.length; from++) {
    const wanted = [PROJECT, ...parts.slice(from)].join("/");
    const match = candidates.find((entry) => entry.path.toLowerCase() === wanted);
    if (match) return match;
  }
  const sameName = candidates.filter((entry) => entry.path.toLowerCase().endsWith(`/${parts.at(-1)}`));
  return sameName.length === 1 ? sameName[0] : undefined;
}

function verdict(found: readonly { place: NamedPlace; site: Site | undefined }[], conversation: Conversation): Scouted {
  const sites = withoutInner(found.flatMap(({ site }) => site ?? []));
  const missing = found.filter(({ site }) => !site).map(({ place }) => place);
  const moved = found.flatMap(({ place, site }) =>
    site && site.place.path !== place.path
      ? [`${plain(place.written)} was found as ${code(shown(site.place.path))}.`]
      : [],
  );
  if (sites.length > 0) {
    const sure = missing.filter((place) => place.sure);
    const absent = sure.length > 0 ? [`There is no ${names(sure)} in the project folder; the rest was surveyed.`] : [];
    const subject = enumeration(sites.map(({ place }) => shown(place.path)));
    return { kind: "found", subject, sites, remarks: [...moved, ...absent] };
  }
  const project = listing(conversation, PROJECT, true);
  if (!project?.folder) return { kind: "nothing", why: project?.content ?? "The project folder could not be listed." };
  const remark = `There is no ${names(missing)} in the project folder, so the whole project was surveyed instead.`;
  return {
    kind: "found",
    subject: shown(PROJECT),
    sites: [{ place: { path: PROJECT, reach: "deep" }, ...project.folder }],
    remarks: [remark],
  };
}

function withoutInner(sites: readonly Site[]): Site[] {
  const unique = [...new Map(sites.map((site) => [site.place.path, site])).values()];
  return unique.filter(
    ({ place }) =>
      !unique.some((other) => other.place.reach === "deep" && place.path.startsWith(`${other.place.path}/`)),
  );
}

function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;
}

function names(places: readonly Pick<NamedPlace, "written">[]): string {
  return enumeration(places.map(({ written }) => plain(written)));
}
