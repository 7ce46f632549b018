import fc from "fast-check";
import { expect, test } from "vitest";
import { EventSize } from "./event-size.ts";

test("what is pending does not depend on where the bytes are cut", () => {
  const text = "data: one\n\n: ping\r\n\r\nevent: x\ndata: two\n\ndata: three\r\n";
  const bytes = Buffer.from(text);
  const pending = "data: three\r\n".length;
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length })), (cuts) => {
      const size = new EventSize();
      const borders = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const counts = borders.slice(1).map((end, at) => size.add(bytes.subarray(borders[at], end)));
      expect(counts.at(-1)).toBe(pending);
    }),
    { examples: [[[...bytes.keys()]]] },
  );
});
