import fc from "fast-check";
import { expect, test } from "vitest";
import { ChatReader } from "./chat-reader.ts";
import { createEventReader } from "./sse.ts";
import { createTagReader, type TagPiece } from "./tag-reader.ts";

// However the network cuts a stream, it says the same.

test.each([
  ["from the beginning", ""],
  ["behind a byte order mark", "\uFEFF"],
])("server-sent events, %s, do not depend on where the bytes are cut", (_, mark) => {
  const text = `${mark}data: one\n\n: comment\r\nevent: x\r\ndata: {"a":"x\uFEFFé€😀"}\r\n\r\ndata:two\ndata: lines\n\nid: 7\n\ndata: [DONE]\n\ndata: cut off`;
  const bytes = new TextEncoder().encode(text);
  const everywhere = [...bytes.keys()];

  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length })), (cuts) => {
      const reader = createEventReader();
      const heard: string[] = [];
      const borders = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      for (let at = 1; at < borders.length; at++)
        reader.push(bytes.subarray(borders[at - 1], borders[at]), (data) => heard.push(data));
      expect(heard).toEqual(["one", '{"a":"x\uFEFFé€😀"}', "two\nlines", "[DONE]"]);
    }),
    { examples: [[everywhere]] },
  );
});

test("tags do not depend on where the words are cut", () => {
  const piece = fc.constantFrom("<", "<t>", "</t>", "<t", ">", "word ", "</", "t>");

  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(40)), (words, cuts) => {
      const text = words.join("");
      const borders = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const parts = borders.slice(1).map((end, at) => text.slice(borders[at], end));
      expect(merged(parts)).toEqual(merged([text]));
    }),
  );
});

test.each([
  ["one chunk", [{ index: 0, id: "a", function: { name: "look", arguments: '{"at":1}' } }]],
  [
    "many chunks",
    [
      { index: 0, id: "a", function: { name: "look" } },
      { index: 0, function: { arguments: '{"at"' } },
      { index: 0, function: { arguments: ":1}" } },
    ],
  ],
  ["no index", [{ id: "a", function: { name: "look", arguments: '{"at":' } }, { function: { arguments: "1}" } }]],
  [
    "a late name",
    [
      { index: 0, id: "a", function: { arguments: "" } },
      { index: 0, function: { name: "look", arguments: '{"at":1}' } },
    ],
  ],
  ["arguments as an object", [{ index: 0, id: "a", function: { name: "look", arguments: { at: 1 } } }]],
])("a call is read from %s", (_, deltas) => {
  const reader = new ChatReader("local");
  for (const delta of deltas) reader.event(JSON.stringify({ choices: [{ delta: { tool_calls: [delta] } }] }));
  reader.event(JSON.stringify({ choices: [{ delta: {}, finish_reason: "tool_calls" }] }));

  expect(reader.end()[0]).toEqual({ type: "tool-call", toolCallId: "a", toolName: "look", input: '{"at":1}' });
});

test("calls without index are told apart by their ids, or by their names", () => {
  const reader = new ChatReader("local");
  const call = (id: string | undefined, name: string) => ({ ...(id && { id }), function: { name, arguments: "{}" } });
  reader.event(JSON.stringify({ choices: [{ delta: { tool_calls: [call("a", "one"), call("b", "two")] } }] }));
  reader.event(
    JSON.stringify({ choices: [{ delta: { tool_calls: [call(undefined, "three")] }, finish_reason: "stop" }] }),
  );

  expect(
    reader.end().map((part) => (part.type === "tool-call" ? [part.toolCallId, part.toolName] : part.type)),
  ).toEqual([["a", "one"], ["b", "two"], ["call_2", "three"], "finish"]);
});

test("without a finish reason no call comes out", () => {
  const reader = new ChatReader("local");
  reader.event(
    JSON.stringify({
      choices: [{ delta: { tool_calls: [{ index: 0, id: "a", function: { name: "rm", arguments: "{}" } }] } }],
    }),
  );

  expect(reader.end().map((part) => part.type)).toEqual(["finish"]);
});

function merged(texts: string[]): TagPiece[] {
  const reader = createTagReader("t");
  const pieces = [...texts.flatMap((text) => reader.push(text)), ...reader.end()];
  return pieces.reduce<TagPiece[]>((all, piece) => {
    const last = all.at(-1);
    if (last?.type === "text" && piece.type === "text") last.text += piece.text;
    else all.push({ ...piece });
    return all;
  }, []);
}
