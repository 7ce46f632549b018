/** Names of commits and refs, checked before git sees them: one that begins with a dash would be an option. */
export function isObjectId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** Stricter than git: no name of ours needs more, and all of it can be written in a shell without quotes. */
export function isRefName(name: string): boolean {
  return (
    name.length <= 200 &&
    /^refs(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)+$/.test(name) &&
    !name.includes("..") &&
    !/(?:\.|\.lock)(?:\/|$)/.test(name)
  );
}

export function branchRef(branch: string): string {
  const ref = `refs/heads/${branch}`;
  if (!isRefName(ref)) throw new Error(`"${branch}" cannot be the name of a branch of ours.`);
  return ref;
}

/** A git ref of what the agent keeps for itself. */
export function ownRef(ref: string): string {
  if (!isRefName(ref) || !ref.startsWith("refs/agiraph/")) throw new Error(`"${ref}" is not below refs/agiraph/.`);
  return ref;
}

export function objectId(text: string): string {
  if (!isObjectId(text)) throw new Error(`"${text}" is not the full name of a commit.`);
  return text;
}

/** A path as git reads it in GIT_ALTERNATE_OBJECT_DIRECTORIES, where a colon would end it. */
export function quotedPath(path: string): string {
  return `"${path.replace(/["\\]/g, (c) => `\\${c}`).replaceAll("\n", "\\n")}"`;
}
