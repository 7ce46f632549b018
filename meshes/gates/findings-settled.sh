#!/bin/sh
# Every finding of the review has its line in the verdict, nothing grave is open, and the verdict fits.
# Run in shared/output/. What is printed goes to the agent that has to correct it.
fail() {
  echo "$1"
  exit 1
}

[ -s review.md ] || fail "There is no review.md in shared/output/, or it is empty."
[ -s verdict.md ] || fail "There is no verdict.md in shared/output/, or it is empty."
[ review.md -nt verdict.md ] && fail "verdict.md is older than review.md: it is of an earlier task. Write it anew."
grep -q '^### F[0-9]' review.md || grep -qi '^No findings\.' review.md ||
  fail 'review.md has neither findings ("### F1 (high) …") nor a line "No findings."'

awk '
  FNR == NR {
    if ($0 !~ /^### F[0-9]+/) next
    id = $2
    sub(/[^F0-9].*$/, "", id)
    if (!match($0, /\((critical|high|medium|low)\)/)) problem(id " has no severity in review.md: (critical), (high), (medium) or (low).")
    severity[id] = substr($0, RSTART + 1, RLENGTH - 2)
    order[++count] = id
    next
  }
  match($0, /^- F[0-9]+: *(settled|dismissed|left|open)/) {
    id = $2
    sub(/:.*$/, "", id)
    state = substr($0, RSTART, RLENGTH)
    sub(/^.*: */, "", state)
    said[id] = state
    next
  }
  /^Verdict: / { verdict = $2 }
  function problem(words) { print words; bad = 1 }
  END {
    for (i = 1; i <= count; i++) {
      id = order[i]
      if (!(id in said)) problem(id " has no line in verdict.md: - " id ": settled, dismissed, left or open.")
      else if (said[id] == "open") problem(id " (" severity[id] ") is still open.")
      else if (said[id] == "left" && severity[id] ~ /critical|high/) problem(id " is " severity[id] " and cannot be left.")
    }
    if (verdict == "") problem("verdict.md has no line \"Verdict: pass\" or \"Verdict: fail\".")
    else if (verdict != "pass") problem("The verdict is " verdict ".")
    exit bad
  }
' review.md verdict.md
