import { dropping } from "./refused-commits.ts";
import { inQuotes, settingOf } from "./shell-words.ts";

/**
 * Shell scripts for /bin/sh that work in a worker's clone. They run in the sandbox and nowhere else: the clone's config,
 * hooks and filters are the worker's, and are its code.
 *
 * CLONE-1. Nothing that a worker wrote is lost by a script: a clone is made only in a folder that is empty, or in which
 * an earlier script was killed before it was ready.
 * CLONE-2. Hooks, signing, editors and file monitors of the clone do not change what a script does. Filters do: what a
 * file of the clone means in git is for the worker to say.
 * CLONE-3. The last line says what was done; a script that could not do it exits with a code other than 0.
 * CLONE-4. A snapshot leaves HEAD, index, refs and files as they are.
 * CLONE-5. On a full disk a script fails; it never says that there is nothing to save. What cannot be read is left out.
 * CLONE-6. What we committed for a publish that was refused is in no later history: the next commit takes its place, and
 * a worker's own commits go on from what was before it.
 * CLONE-7. A merge that was cut off while git wrote it is undone before anything else is done: its files are never taken
 * for a worker's.
 * CLONE-8. A change counts even if it came in the second in which the clone was made, and has as many bytes as before.
 */

/** Last line: `READY commit`. The clone borrows its objects from the agent's repository, where nothing is ever removed. */
export function cloneScript(clone: {
  repository: string;
  folder: string;
  branch: string;
  commit: string;
  name: string;
  email: string;
}): string {
  const settings = [
    `[user]`,
    `\tname = ${settingOf(clone.name)}`,
    `\temail = ${settingOf(clone.email)}`,
    // As origin the agent's repository: "git fetch" works, without a network. Another user owns it in some sandboxes.
    `[remote "origin"]`,
    `\turl = ${settingOf(clone.repository)}`,
    `\tfetch = +refs/heads/*:refs/remotes/origin/*`,
    `\tuploadpack = git -c safe.directory=* upload-pack`,
  ];
  return [
    ...beginning(clone.folder),
    `repository=${inQuotes(clone.repository)}; branch=${inQuotes(clone.branch)}; commit=${inQuotes(clone.commit)}`,
    ...CLONE,
    `printf '%s\\n' ${inQuotes(settings.join("\n"))} >> .git/config`,
    `{ git --git-dir="$repository" for-each-ref --format="create refs/remotes/origin/%(refname:lstrip=2) %(objectname)" refs/heads; echo "create refs/heads/$branch $commit"; } | g update-ref --stdin`,
    `g reset --quiet --hard`,
    // Later than all that was checked out, by the finest times that there are.
    `out="$GIT_DIR/${CHECKED_OUT}"`,
    `for try in 1 2 3 4 5 6 7 8 9 10 11 12; do : > "$out"; [ -z "$(find "$out" -newer "$GIT_DIR/index")" ] || break; done`,
    ...READY,
  ].join("\n");
}

/** Last line: `READY commit`. */
export function checkoutScript(checkout: { repository: string; folder: string; commit: string }): string {
  return [
    ...beginning(checkout.folder),
    `repository=${inQuotes(checkout.repository)}; branch=agiraph-unborn; commit=${inQuotes(checkout.commit)}`,
    ...CLONE,
    `g update-ref --no-deref HEAD "$commit"`,
    `g reset --quiet --hard`,
    ...READY,
  ].join("\n");
}

/**
 * Last line: `HEAD commit`, `NOTHING` (no change since the base) or `REFUSED reason`. The bundle has what HEAD has and
 * the base does not. `refused` are the commits of earlier publishes, the newest first; those that end with `mark` are ours.
 */
export function commitScript(commit: {
  folder: string;
  message: string;
  bundle: string;
  base: string;
  refused?: { commits: readonly string[]; mark: string };
}): string {
  const { commits, mark } = commit.refused ?? { commits: [], mark: "" };
  return [
    ...beginning(commit.folder),
    `message=${inQuotes(commit.message)}; bundle=${inQuotes(commit.bundle)}; base=${inQuotes(commit.base)}`,
    ...UNLOCK,
    ...UNDO_HALF_MERGE,
    `refused() { echo "REFUSED $*"; exit 0; }`,
    `g rev-parse --verify --quiet "HEAD^{commit}" >/dev/null || refused "HEAD names no commit. Check out a branch with your work."`,
    `for state in rebase-merge rebase-apply; do [ ! -e "$GIT_DIR/$state" ] || refused "A rebase is not finished: git rebase --continue, or git rebase --abort."; done`,
    // Adding a file in conflict would say that it is resolved, with the markers in it.
    `unmerged=$(g ls-files --unmerged | cut -f 2- | uniq | head -n 5 | tr '\\n' ' ')`,
    `[ -z "$unmerged" ] || refused "Resolve the conflicts in: $unmerged(then git add them)."`,
    ...settled("$GIT_DIR/index"),
    `rm -f "$GIT_DIR/${CHECKED_OUT}"`,
    `has_changes() { ! g diff-index --cached --quiet HEAD -- || [ -e "$GIT_DIR/MERGE_HEAD" ]; }`,
    `said=$(g add --all 2>&1) || refused "git cannot add everything: $(printf '%s' "$said" | tail -n 3 | tr '\\n' ' ')"`,
    // Of a repository within the repository only the name of its commit would be kept.
    `nested=$(g diff-index --cached --raw "$base" -- | awk '$2 == "160000" && $5 == "A"' | cut -f 2- | head -n 5 | tr '\\n' ' ')`,
    `[ -z "$nested" ] || refused "These folders are repositories of their own, so their files would be lost: $nested(remove their .git, or ignore them)."`,
    ...(commits.length > 0 ? dropping(commits, mark) : []),
    `if has_changes; then g commit --quiet --no-verify --no-gpg-sign -m "$message"; fi`,
    `head=$(g rev-parse --verify "HEAD^{commit}")`,
    `[ -n "$(g rev-list --max-count=1 "$head" "^$base")" ] || { echo NOTHING; exit 0; }`,
    `rm -f "$bundle" "$bundle.part" "$bundle.part.lock"`,
    `g bundle create --quiet "$bundle.part" HEAD "^$base"`,
    `mv "$bundle.part" "$bundle"`,
    `echo "HEAD $head"`,
  ].join("\n");
}

/**
 * Merges the branch into what was just committed. Last line: `MERGING` (the conflicts are in the files), `MERGED` (git
 * found none here) or `FAILED` (nothing has changed).
 */
export function mergeScript(merge: { folder: string; branch: string; tip: string }): string {
  return [
    ...beginning(merge.folder),
    `branch=${inQuotes(merge.branch)}; tip=${inQuotes(merge.tip)}`,
    ...UNLOCK,
    ...UNDO_HALF_MERGE,
    `g update-ref "refs/remotes/origin/$branch" "$tip"`,
    `g rev-parse --verify HEAD > "$half"`,
    `said=MERGED; g ${MERGE_CONFIG} merge --no-commit --quiet "origin/$branch" >/dev/null 2>&1 || said=MERGING`,
    `if [ ! -e "$GIT_DIR/MERGE_HEAD" ]; then said=FAILED; g reset --quiet --hard; g clean --quiet -fd; fi`,
    `rm -f "$half"`,
    `echo "$said"`,
  ].join("\n");
}

/**
 * Last line: `SNAPSHOT commit` or `NOTHING`. One commit with the files as they are, and with HEAD, each branch, stash and
 * entry of a reflog as a parent: everything of this clone that neither the base nor `kept` reaches can be found from it.
 */
export function snapshotScript(snapshot: {
  folder: string;
  bundle: string;
  base: string;
  kept?: readonly string[];
  message: string;
}): string {
  return [
    ...beginning(snapshot.folder),
    `kept=${inQuotes((snapshot.kept ?? []).map((each) => `^${each}`).join(" "))}`,
    `message=${inQuotes(snapshot.message)}; bundle=${inQuotes(snapshot.bundle)}; base=${inQuotes(snapshot.base)}`,
    `own="$GIT_DIR/agiraph-snapshot-index"; rm -f "$own" "$own.lock"`,
    `if [ -f "$GIT_DIR/index" ]; then cp -p "$GIT_DIR/index" "$own"; fi`,
    ...settled("$own"),
    `export GIT_INDEX_FILE="$own"`,
    `said=$(g add --all --ignore-errors 2>&1) || unless_full "$said"`,
    ...NESTED,
    `tree=$(g write-tree)`,
    `tips=$({ g rev-parse --verify --quiet "HEAD^{commit}"; g for-each-ref --format="%(objectname)"; g log -g --all --format=%H; for name in ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REBASE_HEAD; do g rev-parse --verify --quiet "$name^{commit}"; done; } 2>/dev/null | awk '!seen[$0]++') || true`,
    // A tag may name anything; what is gone or is not a commit cannot be a parent.
    `known=$(for tip in $tips; do g rev-parse --verify --quiet "$tip^{commit}"; done | awk '!seen[$0]++') || true`,
    `parents=$({ for tip in $known; do echo "$tip"; done; echo "^$base"; } | g rev-list --no-walk=unsorted --stdin) || true`,
    `new=""; for tip in $parents; do [ -z "$(g rev-list --max-count=1 "$tip" "^$base" $kept)" ] || new="$new -p $tip"; done`,
    `head=$(g rev-parse --verify --quiet "HEAD^{commit}" || echo "$base")`,
    `rm -f "$own"`,
    `[ -n "$new" ] || [ "$tree" != "$(g rev-parse "$head^{tree}")" ] || { echo NOTHING; exit 0; }`,
    `case " $new " in *" $head "*) ;; *) new="-p $head$new" ;; esac`,
    `commit=$(printf '%s\\n' "$message" | g -c user.name=agiraph -c user.email=agiraph@localhost commit-tree "$tree" $new)`,
    `ref=refs/agiraph/snapshot; rm -f "$GIT_DIR/$ref.lock"; g update-ref --no-deref "$ref" "$commit"`,
    `rm -f "$bundle" "$bundle.part" "$bundle.part.lock"`,
    `g bundle create --quiet "$bundle.part" "$ref" "^$base" && done=1 || done=0`,
    `g update-ref -d "$ref"; rmdir "$GIT_DIR/refs/agiraph" 2>/dev/null || true`,
    `[ "$done" = 1 ]`,
    `mv "$bundle.part" "$bundle"`,
    `echo "SNAPSHOT $commit"`,
  ].join("\n");
}

/** `g` is git in this clone, whatever its config says about hooks, monitors and the place of its files. */
function beginning(folder: string): string[] {
  return [
    `set -eu`,
    `folder=${inQuotes(folder)}`,
    `cd "$folder"`,
    `export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat LC_ALL=C`,
    `export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/nonexistent/grafts GIT_DIR="$folder/.git" GIT_WORK_TREE="$folder"`,
    `unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE 2>/dev/null || true`,
    `unless_full() { case "$1" in *"o space left"*|*"Out of disk"*|*"uota exceeded"*|*"nable to write"*|*"ouldn't write"*|*"rror writing"*|*"write error"*) printf '%s\n' "$1" >&2; exit 1 ;; esac; }`,
    `g() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.bare=false -c core.commitGraph=false -c core.trustctime=true -c core.checkStat=default -c commit.gpgSign=false -c gc.auto=0 -c maintenance.auto=false -c advice.addEmbeddedRepo=false -c core.safecrlf=false -c core.quotePath=true -c diff.external= -c diff.renames=false "$@"; }`,
  ];
}

/** A clone that has it is not ready, and holds nothing of a worker. */
export const UNFINISHED_CLONE = ".agiraph-unfinished-clone";
const MARK = UNFINISHED_CLONE;

/** Made when the files and the index were written; without it, nothing is known of when that was. */
const CHECKED_OUT = "agiraph-checked-out";

/**
 * git compares times by the second, so it reads every file again that was written in the same second as the index: of
 * 10,000 files just checked out all, for a second. By finer times it is seen that nobody changed one of them in the rest of
 * that second; then the index is dated one second later. Where stat does not tell them, all are read.
 */
function settled(index: string): string[] {
  return [
    `out="$GIT_DIR/${CHECKED_OUT}"; index="${index}"`,
    `if [ -e "$out" ] && from=$(stat -c %.9Y "$out" 2>/dev/null) && [ -z "$(printf %s "$from" | tr -d 0-9.)" ] && at=$(stat -c %Y "$index") && [ "$(date +%s)" -gt "$at" ]; then`,
    `  late=$(g ls-files -z | xargs -0 -r stat --printf '%.9Z\\n' 2>/dev/null | awk -v from="$from" -v to="$((at + 1))" '$1 >= from && $1 < to { print; exit }')`,
    `  [ -n "$late" ] || touch -d "@$((at + 1))" "$index"`,
    `fi`,
  ];
}

/** Everything was committed before the merge began, and nobody has worked there since. */
const UNDO_HALF_MERGE = [
  `half="$GIT_DIR/agiraph-half-merge"`,
  `if [ -e "$half" ]; then`,
  `  if [ "$(cat "$half")" = "$(g rev-parse --verify HEAD)" ]; then g reset --quiet --hard; g clean --quiet -fd; fi`,
  `  rm -f "$half"`,
  `fi`,
];

/** Needs $repository, $branch and $commit. */
const CLONE = [
  `mark=${MARK}`,
  // Without the mark these are a worker's files.
  `if [ ! -e "$mark" ] && [ -n "$(ls -A .)" ]; then`,
  // It comes from another host, or the home was moved: what it borrows from is elsewhere now.
  `  borrowed=.git/objects/info/alternates`,
  `  if [ -f "$borrowed" ] && [ ! -d "$(head -n 1 "$borrowed")" ]; then`,
  `    printf '%s\\n' "$repository/objects" > "$borrowed"; g config remote.origin.url "$repository"`,
  `  fi`,
  ...UNDO_HALF_MERGE,
  `  echo "READY $(g rev-parse --verify HEAD)"; exit 0`,
  `fi`,
  `: > "$mark"`,
  `find . -mindepth 1 -maxdepth 1 ! -name "$mark" -exec rm -rf {} +`,
  `format=sha1; [ "\${#commit}" -ne 64 ] || format=sha256`,
  `g init --quiet --template= --object-format="$format" -b "$branch"`,
  // Paths share their beginnings in it: of 10,000 files it has 0.7 MB instead of 1.
  `printf '[index]\\n\\tversion = 4\\n' >> .git/config`,
  `mkdir -p .git/objects/info .git/info`,
  `printf '%s\\n' "$repository/objects" > .git/objects/info/alternates`,
  `printf '%s\\n' "/$mark" > .git/info/exclude`,
  `if [ -f "$repository/shallow" ]; then cp "$repository/shallow" .git/shallow; fi`,
];

/** As `git merge-tree` merges, whose answer the worker is shown. */
const MERGE_CONFIG = "-c merge.conflictStyle=zdiff3 -c merge.renames=true -c rerere.enabled=false";

const READY = [`rm -f "$mark"`, `echo "READY $commit"`];

/** A program of the worker may have been killed while it held a lock, and nobody works there now. */
const UNLOCK = [
  `for lock in index.lock HEAD.lock; do`,
  `  tries=0; while [ -e "$GIT_DIR/$lock" ] && [ "$tries" -lt 10 ]; do tries=$((tries + 1)); sleep 0.2; done`,
  `  rm -f "$GIT_DIR/$lock"`,
  `done`,
  `if [ -d "$GIT_DIR/refs" ]; then rm -f "$GIT_DIR/packed-refs.lock"; find "$GIT_DIR/refs" -name "*.lock" -type f -exec rm -f {} +; fi`,
];

/** A repository within the clone: its files instead of the name of its commit. */
const NESTED = [
  `find . -mindepth 2 -name .git -prune -print | sed 's|^\\./||; s|/\\.git$||' > "$own.nested"`,
  `while IFS= read -r nested; do`,
  `  if g check-ignore --quiet -- "$nested"; then continue; fi`,
  `  g update-index --force-remove -- "$nested"`,
  `  find "$nested" -name .git -prune -o -type f -print | while IFS= read -r file; do`,
  `    mode=100644; [ ! -x "$file" ] || mode=100755`,
  `    id=$(g hash-object -w --no-filters -- "$file" 2>&1) || { unless_full "$id"; continue; }`,
  `    said=$(g update-index --add --cacheinfo "$mode,$id,$file" 2>&1) || unless_full "$said"`,
  `  done`,
  `done < "$own.nested"`,
  `rm -f "$own.nested"`,
];
