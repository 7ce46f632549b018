#!/bin/sh
# The report is there, is newer than what it is made from, answers, and its citations and its sources are the same.
# Run in shared/output/. What is printed goes to the agent that has to correct it.
fail() {
  echo "$1"
  exit 1
}

[ -s report.md ] || fail "There is no report.md in shared/output/, or it is empty."
for findings in findings-*.md; do
  [ -e "$findings" ] || continue
  [ "$findings" -nt report.md ] && fail "report.md is older than $findings: it is of an earlier task. Write it anew."
done
grep -q '^## Answer' report.md || fail 'report.md has no "## Answer".'
grep -q '^## Sources' report.md || fail 'report.md has no "## Sources".'

awk '
  /^```/ { inCode = !inCode; next }
  inCode { next }
  /^## / { inSources = ($0 ~ /^## Sources/); next }
  inSources && match($0, /^[ \t*-]*\[[0-9]+\]/) {
    number = substr($0, RSTART, RLENGTH)
    gsub(/[^0-9]/, "", number)
    rest = substr($0, RSTART + RLENGTH)
    gsub(/[ \t:.]/, "", rest)
    if (number in source) problem("Source [" number "] is there twice.")
    if (rest == "") problem("Source [" number "] says nothing.")
    source[number] = 1
    next
  }
  !inSources {
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\[[0-9]+([, ]+[0-9]+)*\]/)) {
      count = split(substr(line, RSTART + 1, RLENGTH - 2), numbers, /[, ]+/)
      for (i = 1; i <= count; i++) cited[numbers[i]] = 1
      line = substr(line, RSTART + RLENGTH)
    }
  }
  function problem(words) { print words; bad = 1 }
  END {
    any = 0
    for (number in cited) { any = 1; if (!(number in source)) problem("[" number "] is cited, but is not among the sources.") }
    for (number in source) if (!(number in cited)) problem("Source [" number "] is never cited.")
    if (!any) problem("Nothing in report.md is cited: every claim that a reader might doubt needs a source, as [1].")
    exit bad
  }
' report.md
