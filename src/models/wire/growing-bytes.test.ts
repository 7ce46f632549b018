import { expect, test } from "vitest";
import { GrowingBody } from "./growing-body.ts";

test("GROWING-BODY-1. bytes that were handed out stay as they are, also when the next have the same length", () => {
  const body = new GrowingBody<{ text: string }>("[", (each) => JSON.stringify(each));
  const first = body.bytesOf([{ text: "one" }]);
  const second = body.bytesOf([{ text: "two" }]);
  expect([first, second].map((bytes) => `${Buffer.from(bytes)}]`)).toEqual(['[{"text":"one"}]', '[{"text":"two"}]']);
});

test("a long conversation is whole, in any script", () => {
  const body = new GrowingBody<{ text: string }>("[", (each) => JSON.stringify(each));
  const messages = ["a", "漢", "é", "🐻"].map((letter) => ({ text: letter.repeat(9_000) }));
  for (let count = 1; count <= messages.length; count++) {
    const said = messages.slice(0, count);
    expect(JSON.parse(`${Buffer.from(body.bytesOf(said))}]`)).toEqual(said);
  }
});
