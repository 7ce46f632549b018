import type { Reporter, TestModule } from "vitest/node";

/**
 * Ends every run with "N passed, N failed", a line that any CI can read, and names what was skipped and what passed only
 * when it was asked a second time, with its first failure.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const skipped = tests.filter((test) => test.result().state === "skipped");
    for (const test of skipped) console.log(`skipped: ${test.fullName}`);
    for (const test of tests.filter((one) => one.diagnostic()?.flaky)) {
      console.log(`passed at the second try: ${test.module.relativeModuleId} > ${test.fullName}`);
      for (const { stack, message, diff = "" } of test.result().errors ?? [])
        console.log(`  the first: ${stack ?? message}\n${diff}`);
    }
    const tail = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
    console.log(`${count("passed")} passed, ${count("failed")} failed${tail}`);
  }
}
