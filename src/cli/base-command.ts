import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { seeHelp } from "./command-line/command-spec.ts";
import { helpItem } from "./command-line/help-layout.ts";
import { programWords } from "./invocation.ts";
import type { Terminal } from "./terminal.ts";
import { usageWords } from "./wording/usage-words.ts";

export const packageRoot = dirname(findPackageJSON(import.meta.url) ?? import.meta.dirname);

/** What all our programs share: the options for home and JSON, the style of help, and how errors are reported. */
export function baseCommand(terminal: Terminal, name: string): Command {
  return new Command(name)
    .version(versionOf(packageRoot), "-v, --version", "print the version")
    .option("--home <dir>", "the folder that holds the agents (AGIRAPH_HOME, default ~/.agiraph)")
    .option("--json", "for scripts: JSON lines on stdout, text for people on stderr")
    .configureHelp({ showGlobalOptions: true, formatItem: helpItem })
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      getOutHelpWidth: () => Math.min(terminal.columns, 100),
      getErrHelpWidth: () => 100,
      getOutHasColors: () => terminal.paint.isColorSupported,
      getErrHasColors: () => terminal.errPaint.isColorSupported,
      outputError: (text, write) => write(`${terminal.errPaint.red("✗")} ${usageWords(text)}\n`),
    })
    .showHelpAfterError(seeHelp(name === "agiraph" ? programWords(terminal.env) : name))
    .helpCommand(false)
    .exitOverride();
}

export function versionOf(root: string): string {
  const manifest: { version?: unknown } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return String(manifest.version);
}
