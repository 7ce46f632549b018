import fc from "fast-check";
import { expect, test } from "vitest";
import { Output } from "./output.ts";

function outputOf(maxBytes: number, ...chunks: (string | Buffer)[]) {
  const output = new Output(maxBytes);
  for (const chunk of chunks) output.push(Buffer.from(chunk));
  return { text: output.text(), truncated: output.truncated };
}

test("what fits is kept whole", () => {
  expect(outputOf(10, "hello", "", "world")).toEqual({ text: "helloworld", truncated: false });
});

test("what does not fit loses its middle, and says how much", () => {
  expect(outputOf(10, "begin", "middle", "the", "end!!")).toEqual({
    text: "begin\n… 9 bytes left out here …\nend!!",
    truncated: true,
  });
});

test("a character that the cut goes through is left out whole", () => {
  expect(outputOf(10, "abcd€", "x".repeat(20), "€wxyz")).toEqual({
    text: "abcd\n… 26 bytes left out here …\nwxyz",
    truncated: true,
  });
});

test("however characters are spread over chunks, both ends are kept and none is broken", () => {
  const character = fc.constantFrom("a", "é", "€", "𝄞", "\n");
  fc.assert(
    fc.property(
      fc.array(character, { maxLength: 60 }),
      fc.array(fc.nat(5)),
      fc.integer({ min: 8, max: 40 }),
      (characters, sizes, maxBytes) => {
        const whole = characters.join("");
        const bytes = Buffer.from(whole);
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        chunks.push(bytes.subarray(at));
        const { text, truncated } = outputOf(maxBytes, ...chunks);
        if (!truncated) return text === whole;
        const [head = "", tail = ""] = text.split(/\n… \d+ bytes left out here …\n/);
        const left = Number(/… (\d+) bytes/.exec(text)?.[1]);
        const kept = Buffer.byteLength(head) + Buffer.byteLength(tail);
        return (
          whole.startsWith(head) &&
          whole.endsWith(tail) &&
          kept + left === bytes.length &&
          kept <= maxBytes &&
          kept > maxBytes - 8
        );
      },
    ),
  );
});
