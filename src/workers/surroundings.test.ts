import { expect, test } from "vitest";
import { dayWords } from "./surroundings.ts";

test("a day has its weekday and its zone, and is that zone's day", () => {
  const evening = Date.parse("2026-11-17T23:30:00Z");
  expect(dayWords(evening, "UTC")).toBe("2026-11-17, a Tuesday (UTC)");
  expect(dayWords(evening, "Europe/Berlin")).toBe("2026-11-18, a Wednesday (Europe/Berlin)");
  expect(dayWords(evening, "America/Los_Angeles")).toBe("2026-11-17, a Tuesday (America/Los_Angeles)");
});
