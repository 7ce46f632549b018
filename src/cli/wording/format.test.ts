import { expect, test } from "vitest";
import { age, amount, bytes, costOf, elapsedTime, milliseconds, money } from "./format.ts";

test("figures read as people say them", () => {
  expect({
    money: [0, 0.00042, 0.05, 12.3].map(money),
    costs: [
      costOf({ cost_usd: 0.5, unpriced_calls: 0 }),
      costOf({ cost_usd: 0, unpriced_calls: 3 }),
      costOf({ cost_usd: 0.5, unpriced_calls: 1 }),
    ],
    amounts: [999, 1000, 9949, 9951, 999_499, 999_500, 12_345_678].map(amount),
    bytes: [0, 1023, 1024, 10_240, 5 * 1024 ** 3].map(bytes),
    times: [3, 999, 1000, 12_345, 61_000].map(milliseconds),
    clocks: [0, 42.9, 725, 3723].map(elapsedTime),
    ages: [5, 61, 7300, 200_000].map(age),
  }).toEqual({
    money: ["$0", "$0.0004", "$0.05", "$12.30"],
    costs: ["$0.50", "price unknown", "$0.50 + 1 unpriced call"],
    amounts: ["999", "1.0k", "9.9k", "10k", "999k", "1.0M", "12M"],
    bytes: ["0 B", "1023 B", "1.0 KiB", "10 KiB", "5.0 GiB"],
    times: ["3 ms", "999 ms", "1.0 s", "12 s", "1:01"],
    clocks: ["0:00", "0:42", "12:05", "1:02:03"],
    ages: ["5s", "1m", "2h", "2d"],
  });
});
