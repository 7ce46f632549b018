/**
 * Tests that may pass at the second try, each with its reason. Any other fails the run (docs/decisions/tests.md).
 * `test` is the file and the full name, as the end of a run prints them.
 */
export const KNOWN_RETRIES: readonly { test: string; reason: string }[] = [];
