import { expect, test } from "vitest";
import { envIn } from "./env-file.ts";

const KEY = "sk-ant-0123456789";
const NO_NAME =
  'this line is ignored, because there is no variable name before the "=". Write NAME=value, or begin the line with # to make it a comment.';
const NO_EQUALS =
  'this line is ignored, because it has no "=". Write NAME=value, or begin the line with # to make it a comment.';

test("a .env file sets its variables", () => {
  const text = `\uFEFFA=1\r\n# B=2\n\nexport C = "three # words" # said\nD='it''s'#\nE=\`two\nlines\`\nF.G-H=it's\nI==\n`;
  expect(envIn("/home/.env", text.replace("'it''s'", "'its'"))).toEqual({
    env: { A: "1", C: "three # words", D: "its", E: "two\nlines", "F.G-H": "it's", I: "=" },
    problems: [],
  });
});

test.each([
  ["no equals sign", `ANTHROPIC_API_KEY ${KEY}`, [`2: ${NO_EQUALS}`]],
  ["a colon", `ANTHROPIC_API_KEY: ${KEY}`, [`2: ${NO_EQUALS}`]],
  ["a name in two words", `ANTHROPIC API KEY=${KEY}`, [`2: ${NO_NAME}`]],
  ["a command", `set A=${KEY}`, [`2: ${NO_NAME}`]],
  ["no name", `=${KEY}`, [`2: ${NO_NAME}`]],
  ["a key alone, which ends with an equals sign", `${KEY}+/=`, [`2: ${NO_NAME}`]],
  [
    "an open quote",
    `A="${KEY}`,
    ["2: the value begins with a quote that is never closed, so the quote is part of it."],
  ],
  [
    "text after the quote",
    `A="${KEY}" ${KEY}`,
    ["2: there is text after the closing quote, which is not part of the value. Remove it, or quote all of the value."],
  ],
  [
    "a quote that takes the next variable in",
    `A="${KEY}\nB="${KEY}"\nC ${KEY}`,
    [
      "2: the quoted value ends in the middle of line 3, so the lines up to there are part of it. Close the quote where the value ends.",
      `4: ${NO_EQUALS}`,
    ],
  ],
])(
  "ENV-FILE-1, ENV-FILE-2: %s is named by its line, without a word of it, and the rest is used",
  (_, lines, problems) => {
    const found = envIn("/home/.env", `FIRST=1\n${lines}\n\nLAST=2`);
    expect(found.problems).toEqual(problems.map((problem) => `/home/.env:${problem}`));
    expect(found.env).toMatchObject({ FIRST: "1", LAST: "2" });
    expect(found.problems.join()).not.toContain("sk-ant");
  },
);
