import { inQuotes } from "./shell-words.ts";

/**
 * Takes commits of ours out of HEAD's history; the index stays as it is. Where HEAD is one, the next commit has its
 * parents. What comes after one is written again with other parents, and is otherwise the same.
 */
export function dropping(commits: readonly string[], mark: string): string[] {
  return [
    `mark=${inQuotes(mark)}`,
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
    `for old in ${commits.map(inQuotes).join(" ")}; do`,
    `  g merge-base --is-ancestor "$old" HEAD 2>/dev/null || continue`,
    `  g log --max-count=1 --format=%B "$old" | grep -qxF -- "$mark" || continue`,
    `  if [ "$(g rev-parse HEAD)" != "$old" ]; then take_out "$old"; elif has_changes; then step_back; fi`,
    `done`,
  ];
}
