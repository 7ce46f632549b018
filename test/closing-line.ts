import type { Reporter, TestCase, TestModule } from "vitest/node";
import { KNOWN_RETRIES } from "./known-retries.ts";

/**
 * Ends every run with "N passed, N failed", a line that any CI can read, and names what was skipped and what passed only
 * at the second try, with its first failure.
 *
 * SECOND-TRY-1. A test that passed only at the second try fails the run, unless test/known-retries.ts lists it with a reason.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const skipped = tests.filter((test) => test.result().state === "skipped");
    for (const test of skipped) console.log(`skipped: ${test.fullName}`);
    const unknown = tests.filter((test) => test.diagnostic()?.flaky).filter((test) => !isKnown(test));
    if (unknown.length > 0) {
      process.exitCode = 1;
      console.log(WHAT_TO_DO);
    }
    const failed = count("failed") + unknown.length;
    const tail = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
    console.log(`${count("passed") - unknown.length} passed, ${failed} failed${tail}`);
  }
}

const WHAT_TO_DO =
  "A test that passes only at the second try counts as failed: find out whether the test or the product is at fault and fix it. If it cannot be fixed now, list it with its reason in test/known-retries.ts.";

/** Says that it passed at the second try, and why not at the first. */
function isKnown(test: TestCase): boolean {
  const name = `${test.module.relativeModuleId} > ${test.fullName}`;
  const known = KNOWN_RETRIES.find(({ test: listed }) =>
    listed.endsWith("*") ? name.startsWith(listed.slice(0, -1)) : name === listed,
  );
  console.log(`passed at the second try: ${name}${known ? ` (known: ${known.reason})` : ""}`);
  for (const { stack, message, diff = "" } of test.result().errors ?? [])
    console.log(`  the first: ${stack ?? message}\n${diff}`);
  return known !== undefined;
}
