import { appendFileSync, readFileSync } from "node:fs";

/**
 * Plays Codex with a dialog open: `dialog-player.ts LOG SCREEN`. It shows the screen (its first line is the title) and
 * writes down every byte it is given; told so by SIGUSR1 it writes down "answered" and shows a line to type in.
 */
const [, , log = "", file = ""] = process.argv;
const [title = "", ...screen] = readFileSync(file, "utf8").split("\n");
let isOpen = true;
let typed = "";

process.stdin.setRawMode(true);
process.stdin.setEncoding("utf8");
process.stdin.on("data", (keys: string) => {
  note(keys);
  if (isOpen) return;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters.
  for (const part of keys.split(/(\x1b\[20[01]~)/)) {
    if (part.startsWith("\x1b")) continue;
    typed = part === "\r" ? "" : typed + part.replaceAll("\r", "\n");
  }
  draw("project", [
    "• Well.",
    "",
    ...(typed === "" ? ["› Ask Codex to do anything"] : lines()),
    "",
    "  GPT-5.5 default",
  ]);
});
process.on("SIGUSR1", () => {
  isOpen = false;
  note("answered");
  draw("project", ["• Well.", "", "› Ask Codex to do anything", "", "  GPT-5.5 default"]);
});
draw(title, screen);

function lines(): string[] {
  return typed.split("\n").map((line, at) => (at === 0 ? `› ${line}` : `  ${line}`));
}

function draw(name: string, shown: readonly string[]): void {
  process.stdout.write(`\x1b]2;${name}\x07\x1b[2J\x1b[H${shown.join("\r\n")}`);
}

function note(what: string): void {
  appendFileSync(log, `${JSON.stringify(what)}\n`);
}
