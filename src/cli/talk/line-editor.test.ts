import { expect, test } from "vitest";
import { type Key, LineEditor } from "./line-editor.ts";

/** Types letters as they are; what stands in <> is a key. */
function type(editor: LineEditor, keys: string): string[] {
  const lines: string[] = [];
  for (const [part] of keys.matchAll(/<[^>]+>|\p{L}\p{M}*|[^<]/gu)) {
    const key: Key = part.startsWith("<")
      ? { name: part.slice(1, -1).replace("ctrl-", ""), ctrl: part.startsWith("<ctrl-") }
      : {};
    const line = editor.press(part.startsWith("<") ? undefined : part, key);
    if (line !== undefined) lines.push(line);
  }
  return lines;
}

test("what is typed is a line when Enter is pressed, and the editor is empty again", () => {
  const editor = new LineEditor();
  expect(type(editor, "helo<left>l<end>!<return>next")).toEqual(["hello!"]);
  expect(editor.text).toBe("next");
});

test.each([
  ["abc<backspace>d", "abd"],
  ["abc<left><left><delete>x", "axc"],
  ["one two<ctrl-w>three", "one three"],
  ["end<ctrl-a>start <ctrl-e>.", "start end."],
  ["gone<ctrl-u>kept", "kept"],
  ["kept and gone<home><right><right><right><right><ctrl-k>", "kept"],
  ["ae\u0301<backspace>b", "ab"],
  ["a\u0007b\u009bc", "abc"],
])("%j leaves %j", (keys, text) => {
  const editor = new LineEditor();
  type(editor, keys);
  expect(editor.text).toBe(text);
});

test("a pasted text keeps its lines and is not sent by them", () => {
  const editor = new LineEditor();
  expect(type(editor, "<paste-start>one<return>two<paste-end> three")).toEqual([]);
  expect(editor.text).toBe("one\ntwo three");
  expect(editor.view(40)).toEqual({ before: "one⏎two three", under: " ", after: "" });
});

test("the arrows bring back what was said before", () => {
  const editor = new LineEditor();
  type(editor, "first<return>second<return><up><up>");
  expect(editor.text).toBe("first");
  type(editor, "<down>");
  expect(editor.text).toBe("second");
  type(editor, "<down>");
  expect(editor.text).toBe("");
});

test("a line longer than the screen shows the part around the caret", () => {
  const editor = new LineEditor();
  type(editor, "0123456789");
  expect(editor.view(5)).toEqual({ before: "6789", under: " ", after: "" });
  type(editor, "<home>");
  expect(editor.view(5)).toEqual({ before: "", under: "0", after: "1234" });
  editor.replace("日本語");
  expect(editor.view(4)).toEqual({ before: "語", under: " ", after: "" });
});
