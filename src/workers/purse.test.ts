import { expect, test } from "vitest";
import { Purse } from "./purse.ts";

test("a reply whose price is unknown does not make the next ones free: they still go one by one", async () => {
  const purse = new Purse(1, 0.9);
  const signal = new AbortController().signal;
  const enter = (waits: () => void = () => {}) => purse.enter("p/m", signal, waits);
  (await enter())(null);
  const pay = await enter();
  let waiting = false;
  const next = enter(() => {
    waiting = true;
  });
  expect(waiting).toBe(true);
  pay(0.2);
  await expect(next).rejects.toThrow("The budget of $1 is spent ($1.1000).");
});
