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
