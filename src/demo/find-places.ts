import { type Conversation, madeTo } from "./conversation.ts";
import type { NamedPlace } from "./goal.ts";
import { code, enumeration, escaped, grouped, shown } from "./markdown.ts";
import { act, listFiles, type Move } from "./move.ts";
import { kindOf } from "./survey.ts";
import type { SurveyOrder } from "./survey-order.ts";
import { type FolderText, type ListedEntry, readListing } from "./tool-text.ts";

/** What was found at the places that were named. */
export type Looked =
  | { kind: "looking"; move: Move }
  | { kind: "nothing"; why: string }
  | { kind: "found"; order: SurveyOrder };

const PROJECT = "project";
/** Of all files that are there, at most. */
const MOST_READ = 120;

/**
 * Looks at the named places; a place that does not exist is searched for in the project, and failing that the whole
 * project is taken.
 */
export function findPlaces(named: readonly NamedPlace[], conversation: Conversation): Looked {
  const wanted = named.length > 0 ? named : [{ written: "the project", path: PROJECT, sure: true }];
  const isAbsent = ({ path }: NamedPlace) => listingIn(path, conversation)?.folder === undefined;
  const needed = wanted.some((place) => listingIn(place.path, conversation) && isAbsent(place)) ? [PROJECT] : [];
  const unlisted = [...wanted.map(({ path }) => path), ...needed].filter((path) => !listingIn(path, conversation));
  if (unlisted.length > 0) {
    const words = needed.includes(unlisted[0] ?? "")
      ? `I cannot list ${names(wanted.filter(isAbsent))}, so I look for it in the project.`
      : `I look at ${names(wanted)} first.`;
    return { kind: "looking", move: act(words, ...unlisted.map((path) => listFiles(path))) };
  }
  const found = wanted.map((place) => ({ place, site: siteOf(place, conversation) }));
  const missing = found.flatMap(({ place, site }) => (site ? [] : [place]));
  if (missing.length < wanted.length) {
    const moved = found.flatMap(({ place, site }) =>
      site && site.path !== place.path ? [`${escaped(place.written)} was found as ${code(shown(site.path))}.`] : [],
    );
    const sure = missing.filter((place) => place.sure);
    const absent = sure.length > 0 ? [`There is no ${names(sure)} in the project folder; the rest was surveyed.`] : [];
    return orderFrom(
      found.flatMap(({ site }) => site ?? []),
      [...moved, ...absent],
    );
  }
  const project = listingIn(PROJECT, conversation);
  if (!project?.folder) return { kind: "nothing", why: project?.content ?? "The project folder could not be listed." };
  const remark = `There is no ${names(missing)} in the project folder, so the whole project was surveyed instead.`;
  return orderFrom([{ path: PROJECT, ...project.folder, isFolder: true }], [remark]);
}

interface Site extends FolderText {
  path: string;
  isFolder: boolean;
}

/** The result of a listing, if it was made; `folder` is missing if it was refused. */
export function listingIn(
  path: string,
  conversation: Conversation,
): { folder: FolderText | undefined; content: string } | undefined {
  const result = madeTo("list_files", conversation).findLast(
    ({ args }) => args.path === path && args.recursive,
  )?.result;
  return result && { folder: result.ok ? readListing(result.content) : undefined, content: result.content };
}

function siteOf({ path }: NamedPlace, conversation: Conversation): Site | undefined {
  const folder = listingIn(path, conversation)?.folder;
  if (folder) return { path, ...folder, isFolder: true };
  const { entries = [], cut = false } = listingIn(PROJECT, conversation)?.folder ?? {};
  const near = nearby(path, entries);
  if (!near) return undefined;
  if (near.kind === "file") return { path: near.path, entries: [near], cut: false, isFolder: false };
  const inside = entries.filter((entry) => entry.path.startsWith(`${near.path}/`));
  return { path: near.path, entries: inside, cut, isFolder: true };
}

/** The end of the path (people write it from elsewhere), in any case; or the only entry of that name. */
function nearby(path: string, entries: readonly ListedEntry[]): ListedEntry | undefined {
  const parts = path.toLowerCase().split("/").slice(1);
  if (parts.includes("..")) return undefined;
  const candidates = entries.filter(({ kind }) => kind !== "other");
  const ends = parts.map((_, from) => [PROJECT, ...parts.slice(from)].join("/"));
  const match = ends.flatMap((end) => candidates.find((entry) => entry.path.toLowerCase() === end) ?? [])[0];
  const sameName = candidates.filter((entry) => entry.path.toLowerCase().endsWith(`/${parts.at(-1)}`));
  return match ?? (sameName.length === 1 ? sameName[0] : undefined);
}

function orderFrom(sites: readonly Site[], remarks: readonly string[]): Looked {
  const all = new Map(sites.flatMap(({ entries }) => entries).map((entry) => [entry.path, entry]));
  const files = [...all.values()].filter(({ kind }) => kind === "file");
  const chosen = worthReading(files);
  const unread = files.length - chosen.length;
  const others = [...all.values()].filter(({ kind }) => kind === "other").length;
  return {
    kind: "found",
    order: {
      subject: enumeration([...new Set(sites.map(({ path }) => shown(path)))]),
      folders: sites.flatMap(({ path, isFolder }) => (isFolder ? [path] : [])),
      files: chosen,
      remarks: [
        ...remarks,
        ...sites.flatMap(({ path, cut }) =>
          cut ? [`The list of ${code(shown(path))} was cut off: there are more files than the ones counted here.`] : [],
        ),
        ...(unread > 0 ? [`${grouped(unread)} more files were listed and not read, for want of room.`] : []),
        ...(others > 0 ? [`Links and special files were not followed: ${grouped(others)}.`] : []),
      ],
    },
  };
}

/** When there is no room for all: text before code before data, the upper folders first. */
function worthReading(files: readonly ListedEntry[]): ListedEntry[] {
  const families = ["text", "code", "data", "binary"];
  const rank = ({ path, bytes }: ListedEntry) =>
    (/(?:^|\/)readme[^/]*$/i.test(path) ? 0 : 100 * (1 + families.indexOf(kindOf(path).family))) +
    path.split("/").length +
    (bytes === 0 || /\/(?:node_modules|dist|build|target|vendor)\//.test(path) ? 500 : 0);
  return files
    .toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1))
    .slice(0, MOST_READ)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function names(places: readonly Pick<NamedPlace, "written">[]): string {
  return enumeration(places.map(({ written }) => escaped(written)));
}
