import type { WalkError } from "../disk/folder.ts";
import { ScopeRefusal } from "./scope-refusal.ts";
import type { ScopedPath } from "./scoped-path.ts";

export function outside(deed: "read" | "list", { path, judgement }: ScopedPath): ScopeRefusal {
  return new ScopeRefusal("outside", `You may not ${deed} ${path}. ${judgement.why}`);
}

export function notAsPublished(path: string, isUnknown: boolean): string {
  const what = isUnknown
    ? "was put there after the publish and is not part of it"
    : "was changed after it was published: its content is not the one that was recorded (sha256)";
  return `${path} ${what}. It is not shown. Do not rely on it: have the work done again, or restore the file from a backup.`;
}

export function isFolder(path: string): ScopeRefusal {
  return new ScopeRefusal("wrong_kind", `${path || "The top"} is a folder. Use list_files to see what is in it.`);
}

export function refusalOf(path: string, error: WalkError): ScopeRefusal {
  const say = (reason: ScopeRefusal["reason"], words: string) => new ScopeRefusal(reason, words, { cause: error });
  switch (error.kind) {
    case "is_folder":
    case "in_the_way":
      return isFolder(path);
    case "link":
      return say(
        "unsafe",
        `${path} is, or leads through, a symbolic link; links are not followed. Use the real file, or copy it.`,
      );
    case "special":
      return say("unsafe", `${path} is not a regular file (a pipe, a socket or a device) and is not opened.`);
    case "not_folder":
      return say("wrong_kind", `${path} cannot be reached: a part of it is a file, not a folder.`);
    case "denied":
      return say("outside", `${path} is closed to this program by its permissions on disk.`);
    default:
      return say("invalid", `${path} is not a name this disk can hold. Choose a shorter, plainer one.`);
  }
}
