#!/bin/sh
# Every criterion of the plan passes in the test report, and the tester's own script, where there is one, succeeds.
# Run in shared/output/. What is printed goes to the agent that has to correct it.
fail() {
  echo "$1"
  exit 1
}

[ -s plan.md ] || fail "There is no plan.md in shared/output/, or it is empty."
[ -s test-report.md ] || fail "There is no test-report.md in shared/output/, or it is empty."
[ plan.md -nt test-report.md ] && fail "test-report.md is older than plan.md. Have everything tested against the plan as it is now."

awk '
  FNR == NR {
    if (match($0, /^- A[0-9]+:/)) order[++count] = substr($0, 3, RLENGTH - 3)
    next
  }
  match($0, /^- A[0-9]+: *(pass|fail)/) {
    id = $2
    sub(/:.*$/, "", id)
    state = substr($0, RSTART, RLENGTH)
    sub(/^.*: */, "", state)
    evidence = substr($0, RSTART + RLENGTH)
    gsub(/[ \t.,:;-]/, "", evidence)
    said[id] = state
    shown[id] = evidence != ""
    next
  }
  /^Result: / { result = $2 }
  function problem(words) { print words; bad = 1 }
  END {
    if (count == 0) problem("plan.md has no criteria: lines such as \"- A1: Given …, when …, then …\".")
    for (i = 1; i <= count; i++) {
      id = order[i]
      if (!(id in said)) problem(id " has no line in test-report.md: - " id ": pass, or fail, and the evidence.")
      else if (said[id] == "fail") problem(id " fails.")
      else if (!shown[id]) problem(id " is said to pass, without evidence on its line.")
    }
    if (result == "") problem("test-report.md has no line \"Result: pass\" or \"Result: fail\".")
    else if (result != "pass") problem("The result is " result ".")
    exit bad
  }
' plan.md test-report.md || exit 1

[ -f check.sh ] || exit 0
output=$(pwd)
# shared/output/ lies at .ai/tx/mesh/MESH/shared/output/ in the project.
cd ../../../../../.. || fail "The project's folder cannot be reached from $output."
said=$(sh "$output/check.sh" 2>&1) && exit 0
fail "check.sh does not succeed. Its last lines:
$(printf '%s\n' "$said" | tail -n 20)"
