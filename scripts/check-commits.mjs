#!/usr/bin/env node
// Commit subjects are conventional (CONTRIBUTING.md). Checks those since the rule began, or the message in the file that
// git names when this is used as a commit-msg hook: `ln -s ../../scripts/check-commits.mjs .git/hooks/commit-msg`.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The first commit after this one is the first that is checked: earlier subjects stay as they are. */
const BEGINNING = "1bb9b1d";
const MOST_CHARACTERS = 72;
const FORM = /^(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([\w ,./-]+\))?!?: \S/;

const [message] = process.argv.slice(2);
const subjects = message === undefined ? subjectsSince(BEGINNING) : [subjectIn(readFileSync(message, "utf8"))];
const problems = subjects.flatMap((subject) => {
  const problem = problemWith(subject);
  return problem ? [`  ${subject}\n    ${problem}`] : [];
});
if (problems.length > 0) {
  console.error(`Commit subjects to fix, for example "fix(store): keep the lock":\n${problems.join("\n")}`);
  process.exitCode = 1;
}

function problemWith(subject) {
  if (/^(Merge |Revert ")/.test(subject)) return undefined;
  if (subject.length > MOST_CHARACTERS) return `${subject.length} characters; at most ${MOST_CHARACTERS}.`;
  return FORM.test(subject) ? undefined : "Begin with type(scope): and say what it does.";
}

/** Without git, or where the history does not reach back that far (a tarball, a shallow clone), nothing is checked. */
function subjectsSince(beginning) {
  const git = (...args) => execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    return git("log", "--no-merges", "--format=%s", `${beginning}..HEAD`).split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

function subjectIn(text) {
  return text.split("\n").find((line) => line.trim() !== "" && !line.startsWith("#")) ?? "";
}
