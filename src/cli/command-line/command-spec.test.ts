import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createAgiraph } from "../agiraph-command.ts";
import { Terminal } from "../terminal.ts";
import { createTx } from "../tx-command.ts";

const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
const terminal = new Terminal(streams, {}, "/here");

test("every command that is shown is in a group, and its help has examples", () => {
  for (const program of [createAgiraph(terminal, () => {}), createTx(terminal, () => {})]) {
    const shown = program.createHelp().visibleCommands(program);
    const bare = shown.filter((command) => {
      let help = "";
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      return command.helpGroup() === "" || !help.includes("\nExamples:\n");
    });
    expect(bare.map((command) => command.name())).toEqual([]);
  }
});

test("what a command does is loaded only when it is called", () => {
  const loaded = globSync("*.ts", { cwd: import.meta.dirname }).flatMap((file) => {
    const source = readFileSync(join(import.meta.dirname, file), "utf8");
    return [...source.matchAll(/^import (?!type)[^;]* from "(\.\.\/(?:commands|tx)\/[^"]+)"/gm)].map(
      ([, path]) => `${file} → ${path}`,
    );
  });
  expect(loaded).toEqual([]);
});

test("at 40 and 80 columns the terminal breaks no description of the help in the middle of a word", () => {
  for (const columns of [40, 80]) {
    const stdout = Object.assign(new PassThrough(), { isTTY: true, columns });
    const narrow = new Terminal({ ...streams, stdout }, { NO_COLOR: "1" }, "/here");
    for (const create of [createAgiraph, createTx]) {
      const program = create(narrow, () => {});
      for (const command of [program, ...program.commands]) {
        const help = command.helpInformation().split("\n\nExamples:")[0] ?? "";
        // A term alone is to be copied, and so is left whole.
        const broken = help.split("\n").filter((line) => line.length > columns && /\S {2,}\S|^ {6}\S/.test(line));
        expect({ columns, command: command.name(), broken }).toEqual({ columns, command: command.name(), broken: [] });
      }
    }
  }
});
