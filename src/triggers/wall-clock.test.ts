import { expect, test } from "vitest";
import { asWritten, instantOf, isTimeZone } from "./wall-clock.ts";

test("a time that comes twice is its first coming, one that never comes is the first after the gap", () => {
  const walls = [
    ["2026-07-01T12:00:00", "Asia/Kolkata"],
    ["2026-03-08T02:30:00", "America/New_York"],
    ["2026-11-01T01:30:00", "America/New_York"],
    ["2026-03-29T02:00:00", "Europe/Berlin"],
    ["2026-10-25T02:59:59", "Europe/Berlin"],
    ["2026-10-04T02:15:00", "Australia/Lord_Howe"],
    ["2026-04-05T01:45:00", "Australia/Lord_Howe"],
  ] as const;
  expect(walls.map(([wall, zone]) => asWritten(instantOf(Date.parse(`${wall}Z`), zone), zone))).toEqual([
    "2026-07-01T12:00:00+05:30",
    "2026-03-08T03:00:00-04:00",
    "2026-11-01T01:30:00-04:00",
    "2026-03-29T03:00:00+02:00",
    "2026-10-25T02:59:59+02:00",
    "2026-10-04T02:30:00+11:00",
    "2026-04-05T01:45:00+11:00",
  ]);
});

test("a zone is one that the machine knows", () => {
  expect(["UTC", "Europe/Berlin", "Mars/Olympus", ""].map(isTimeZone)).toEqual([true, true, false, false]);
});
