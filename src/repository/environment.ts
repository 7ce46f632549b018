import { isAbsolute } from "node:path";

/**
 * Settings that every git call of ours gets. A repository's own config is read by git whatever we do, so each
 * setting of it that names a program is overridden here, or the repository is not the one git is started in
 * (`person-objects.ts`).
 */
export const CONFIG: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.sshCommand=false",
  "core.gitProxy=false",
  "core.askPass=true",
  "core.editor=true",
  "core.pager=cat",
  "core.alternateRefsCommand=true",
  "core.untrackedCache=false",
  // Both are caches that git trusts without comparing them with the objects.
  "core.commitGraph=false",
  "core.multiPackIndex=false",
  // An object that a fact names is on disk before the fact.
  "core.fsync=objects,derived-metadata,reference",
  "core.fsyncMethod=fsync",
  "credential.helper=",
  "protocol.allow=never",
  "protocol.file.allow=never",
  "protocol.ext.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
  "commit.gpgSign=false",
  "log.showSignature=false",
  "diff.submodule=short",
  "diff.ignoreSubmodules=all",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "merge.renormalize=false",
  "pack.threads=1",
  "pack.windowMemory=256m",
  // Larger files are read in parts, and never compared line by line: 10 GB of zeros need no memory.
  "core.bigFileThreshold=16m",
  "core.packedGitWindowSize=32m",
  "core.packedGitLimit=512m",
  "advice.addEmbeddedRepo=false",
  "core.safecrlf=false",
];

/** Built from nothing: of the person's environment only the search path is in it, without what is relative to a folder. */
export function bareEnvironment(path: string | undefined): Record<string, string> {
  return {
    PATH: absoluteOnly(path),
    HOME: NOWHERE,
    XDG_CONFIG_HOME: NOWHERE,
    LC_ALL: "C",
    TZ: "UTC",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_ASKPASS: "true",
    // A file for each ref, also where a later git has another default.
    GIT_DEFAULT_REF_FORMAT: "files",
    // A file that is there, even an empty one, makes git warn that grafts are old.
    GIT_GRAFT_FILE: `${NOWHERE}/grafts`,
    GIT_LITERAL_PATHSPECS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_PAGER: "cat",
    GIT_PROXY_COMMAND: "false",
    GIT_SSH_COMMAND: "false",
    GIT_TERMINAL_PROMPT: "0",
    SSH_ASKPASS: "true",
  };
}

/** A search path may have "." in it, and git may be started in a folder that others write to. */
export function absoluteOnly(path: string | undefined): string {
  return (path ?? "/usr/local/bin:/usr/bin:/bin")
    .split(":")
    .filter((folder) => isAbsolute(folder))
    .join(":");
}

const NOWHERE = "/nonexistent";
