import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../testing/index.ts";
import { checkPrograms } from "./doctor-programs.ts";

/** Programs that say what is written here: by their first word, and how they end. */
async function programs(folder: string, said: Record<string, string>, capMs = 10_000) {
  for (const [name, script] of Object.entries(said))
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const checks = await checkPrograms({ PATH: folder, HOME: folder }, capMs);
  return Object.fromEntries(checks.map(({ name, state, detail }) => [name, [state, detail.replaceAll(folder, "")]]));
}

const cases = (version: string, asked: string) => `case "$1" in -*) echo ${version};; *) ${asked};; esac`;

test("programs are asked for their version and whether they are signed in; who cannot be asked is not", async () => {
  await using home = await temporaryHome();
  const there = await programs(home.path, {
    claude: cases("2.1.325", '[ "$*" = "auth status" ]'),
    codex: cases("codex-cli 0.166.0", "echo Not logged in; exit 1"),
    "codex-acp": cases("codex-acp 2.6.0", "exit 9"),
    gemini: cases("0.61.0", "exit 9"),
    opencode: cases("1.18.33", "echo '2 credentials'"),
  });
  expect(there).toEqual({
    claude: ["ok", "2.1.325 (/claude), signed in"],
    codex: ["ok", "codex-acp 2.6.0 (/codex-acp), says that it is not signed in"],
    gemini: ["ok", "0.61.0 (/gemini)"],
    opencode: ["ok", "1.18.33 (/opencode), signed in"],
    tmux: ["missing", "not on PATH"],
  });
});

test("a program that is there without what a worker needs of it is no worker; one that fails says so", async () => {
  await using home = await temporaryHome();
  const there = await programs(home.path, {
    codex: cases("codex-cli 0.166.0", "true"),
    claude: "exit 3",
    opencode: cases("1.18.33", "echo '0 credentials'"),
  });
  expect([there.codex, there.claude, there.opencode]).toEqual([
    ["missing", "/codex is there, codex-acp is not on PATH"],
    ["ok", "does not tell its version (/claude), says that it is not signed in"],
    ["ok", "1.18.33 (/opencode), says that it is not signed in"],
  ]);
});

test("of one that does not answer in time nothing is known", async () => {
  await using home = await temporaryHome();
  const { claude } = await programs(home.path, { claude: "while :; do :; done" }, 300);
  expect(claude).toEqual(["ok", "does not tell its version (/claude), does not say whether it is signed in"]);
});
