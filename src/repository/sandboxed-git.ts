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
  return [
    ...beginning(clone.folder),
    `repository=${quoted(clone.repository)}; branch=${quoted(clone.branch)}; commit=${quoted(clone.commit)}`,
    `name=${quoted(clone.name)}; email=${quoted(clone.email)}`,
    ...CLONE,
    `g config user.name "$name"; g config user.email "$email"`,
    // As origin the agent's repository: "git fetch" works, without a network. Another user owns it in some sandboxes.
    `g config remote.origin.url "$repository"`,
    `g config remote.origin.fetch "+refs/heads/*:refs/remotes/origin/*"`,
    `g config remote.origin.uploadpack "git -c safe.directory=* upload-pack"`,
    `git --git-dir="$repository" for-each-ref --format="create refs/remotes/origin/%(refname:lstrip=2) %(objectname)" refs/heads | g update-ref --stdin`,
    `g update-ref "refs/heads/$branch" "$commit"`,
    `g symbolic-ref HEAD "refs/heads/$branch"`,
    `g reset --quiet --hard`,
    ...READY,
  ].join("\n");
}

/** Last line: `READY commit`. */
export function checkoutScript(checkout: { repository: string; folder: string; commit: string }): string {
  return [
    ...beginning(checkout.folder),
    `repository=${quoted(checkout.repository)}; commit=${quoted(checkout.commit)}`,
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
    `message=${quoted(commit.message)}; bundle=${quoted(commit.bundle)}; base=${quoted(commit.base)}`,
    ...UNLOCK,
    ...UNDO_HALF_MERGE,
    `refused() { echo "REFUSED $*"; exit 0; }`,
    `g rev-parse --verify --quiet "HEAD^{commit}" >/dev/null || refused "HEAD names no commit. Check out a branch with your work."`,
    `for state in rebase-merge rebase-apply; do [ ! -e "$GIT_DIR/$state" ] || refused "A rebase is not finished: git rebase --continue, or git rebase --abort."; done`,
    // Adding a file in conflict would say that it is resolved, with the markers in it.
    `unmerged=$(g diff --name-only --diff-filter=U | head -n 5 | tr '\\n' ' ')`,
    `[ -z "$unmerged" ] || refused "Resolve the conflicts in: $unmerged(then git add them)."`,
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
    `branch=${quoted(merge.branch)}; tip=${quoted(merge.tip)}`,
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
    `kept=${quoted((snapshot.kept ?? []).map((each) => `^${each}`).join(" "))}`,
    `message=${quoted(snapshot.message)}; bundle=${quoted(snapshot.bundle)}; base=${quoted(snapshot.base)}`,
    `own="$GIT_DIR/agiraph-snapshot-index"; rm -f "$own" "$own.lock"`,
    `if [ -f "$GIT_DIR/index" ]; then cp -p "$GIT_DIR/index" "$own"; fi`,
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

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}

/** `g` is git in this clone, whatever its config says about hooks, monitors and the place of its files. */
function beginning(folder: string): string[] {
  return [
    `set -eu`,
    `folder=${quoted(folder)}`,
    `cd "$folder"`,
    `export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat LC_ALL=C`,
    `export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/nonexistent/grafts GIT_DIR="$folder/.git" GIT_WORK_TREE="$folder"`,
    `unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE 2>/dev/null || true`,
    `unless_full() { case "$1" in *"o space left"*|*"Out of disk"*|*"uota exceeded"*|*"nable to write"*|*"ouldn't write"*|*"rror writing"*|*"write error"*) printf '%s\n' "$1" >&2; exit 1 ;; esac; }`,
    `g() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.bare=false -c core.commitGraph=false -c commit.gpgSign=false -c gc.auto=0 -c maintenance.auto=false -c advice.addEmbeddedRepo=false -c core.safecrlf=false -c core.quotePath=true -c diff.external= -c diff.renames=false "$@"; }`,
  ];
}

/** A clone that has it is not ready, and holds nothing of a worker. */
export const UNFINISHED_CLONE = ".agiraph-unfinished-clone";
const MARK = UNFINISHED_CLONE;

/** Everything was committed before the merge began, and nobody has worked there since. */
const UNDO_HALF_MERGE = [
  `half="$GIT_DIR/agiraph-half-merge"`,
  `if [ -e "$half" ]; then`,
  `  if [ "$(cat "$half")" = "$(g rev-parse --verify HEAD)" ]; then g reset --quiet --hard; g clean --quiet -fd; fi`,
  `  rm -f "$half"`,
  `fi`,
];

/** Needs $repository and $commit. */
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
  `g init --quiet --template= --object-format="$format" -b agiraph-unborn`,
  // Paths share their beginnings in it: of 10,000 files it has 0.7 MB instead of 1.
  `g config index.version 4`,
  `mkdir -p .git/objects/info .git/info`,
  `printf '%s\\n' "$repository/objects" > .git/objects/info/alternates`,
  `printf '%s\\n' "/$mark" > .git/info/exclude`,
  `if [ -f "$repository/shallow" ]; then cp "$repository/shallow" .git/shallow; fi`,
];

/** As `git merge-tree` merges, whose answer the worker is shown. */
const MERGE_CONFIG = "-c merge.conflictStyle=zdiff3 -c merge.renames=true -c rerere.enabled=false";

/**
 * Takes commits of ours out of HEAD's history; the index stays as it is. Where HEAD is one, the next commit has its
 * parents. What comes after one is written again with other parents, and is otherwise the same.
 */
function dropping(commits: readonly string[], mark: string): string[] {
  return [
    `mark=${quoted(mark)}`,
    `parents_of() { g rev-list --parents --max-count=1 "$1" | cut -s -d " " -f 2-; }`,
    `step_back() {`,
    `  set -- $(parents_of HEAD); [ "$#" -gt 0 ] || return 0`,
    `  first=$1; shift`,
    `  [ "$#" -eq 0 ] || { printf '%s\\n' "$@" >> "$GIT_DIR/MERGE_HEAD"; [ -e "$GIT_DIR/MERGE_MSG" ] || : > "$GIT_DIR/MERGE_MSG"; }`,
    `  g update-ref HEAD "$first"`,
    `}`,
    `take_out() {`,
    `  map="$GIT_DIR/agiraph-parents"; echo "$1 $(parents_of "$1")" > "$map"`,
    `  for each in $(g rev-list --topo-order --reverse --ancestry-path HEAD "^$1"); do`,
    `    new=$(for parent in $(parents_of "$each"); do to=$(sed -n "s/^$parent //p" "$map"); echo "\${to:-$parent}"; done)`,
    `    kept=" $(g merge-base --independent $new | tr '\\n' ' ')"`,
    `    lines=$(for parent in $new; do case "$kept" in *" $parent "*) echo "parent $parent" ;; esac; done | awk '!seen[$0]++')`,
    `    last=$({ g cat-file commit "$each" | sed -n 1p; printf '%s\\n' "$lines"; g cat-file commit "$each" | sed '1,/^$/ { /^tree /d; /^parent /d; }'; } | g hash-object -t commit -w --stdin)`,
    `    echo "$each $last" >> "$map"`,
    `  done`,
    `  rm -f "$map"; g update-ref HEAD "$last"`,
    `}`,
    `for old in ${commits.map(quoted).join(" ")}; do`,
    `  g merge-base --is-ancestor "$old" HEAD 2>/dev/null || continue`,
    `  g log --max-count=1 --format=%B "$old" | grep -qxF -- "$mark" || continue`,
    `  if [ "$(g rev-parse HEAD)" != "$old" ]; then take_out "$old"; elif has_changes; then step_back; fi`,
    `done`,
  ];
}

const READY = [`rm -f "$mark"`, `echo "READY $(g rev-parse --verify HEAD)"`];

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
