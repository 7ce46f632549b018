import fc from "fast-check";
import { expect, test } from "vitest";
import { GrowingBody } from "./growing-body.ts";

test("whatever is added, dropped or changed, the bytes are those of the list, and what was given out stays", () => {
  const message = fc.record({ text: fc.string({ unit: "binary" }) });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(12), fc.array(message, { maxLength: 5 })), { maxLength: 12 }), (turns) => {
      const body = new GrowingBody<{ text: string }>('{"é":[', (each) => JSON.stringify(each));
      let messages: { text: string }[] = [];
      const given: { bytes: Uint8Array; list: unknown }[] = [];
      for (const [kept, more] of turns) {
        messages = [...messages.slice(0, kept), ...more];
        given.push({ bytes: body.bytesOf(messages), list: { é: [...messages] } });
      }
      for (const { bytes, list } of given)
        expect(JSON.parse(`${Buffer.from(bytes)}]}`)).toEqual(JSON.parse(JSON.stringify(list)));
    }),
  );
});

test("a message is encoded once, however often it is sent", () => {
  let encoded = 0;
  const body = new GrowingBody<object>("[", (each) => {
    encoded += 1;
    return JSON.stringify(each);
  });
  const messages = Array.from({ length: 100 }, (_, n) => ({ n }));
  for (let turn = 1; turn <= 100; turn++) body.bytesOf(messages.slice(0, turn));
  expect(encoded).toBe(100);
});
