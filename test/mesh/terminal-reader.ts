import { appendFileSync } from "node:fs";

/**
 * A program as people have them in terminals: it shows what is typed and takes it with Enter, and writes down what it
 * took. `terminal-reader.ts FILE [deafEvery] [slowMs]`: after every so many it hears nothing for a while, as a fresh dialog
 * does; what is typed at first it reads only after so long.
 */
const [, , file = "", every = "0", slowMs = "0"] = process.argv;
const deafEvery = Number(every);
let input = "";
let taken = 0;
let isPasting = false;
let isDeaf = false;

process.stdin.setRawMode(true);
process.stdin.setEncoding("utf8");
process.stdout.write("\x1b[?2004hReady.\r\n> ");
process.stdin.on("data", (typed: string) => {
  if (isDeaf) return;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters.
  for (const part of typed.split(/(\x1b\[20[01]~|[\r\x15\x03])/)) take(part);
});

if (Number(slowMs) > 0) {
  process.stdin.pause();
  setTimeout(() => process.stdin.resume(), Number(slowMs));
}

function take(part: string): void {
  if (part === "\x1b[200~") isPasting = true;
  else if (part === "\x1b[201~") isPasting = false;
  else if (part === "\r" && isPasting) add("\n");
  else if (part === "\r") enter();
  else if (part === "\x15") {
    input = "";
    process.stdout.write("\r\n> ");
  } else if (part === "\x03") process.exit(3);
  else if (part !== "") add(part);
}

function add(text: string): void {
  input += text;
  process.stdout.write(text.replaceAll("\n", "\r\n"));
}

function enter(): void {
  appendFileSync(file, `${JSON.stringify(input)}\n`);
  if (input === "exit") process.exit(7);
  input = "";
  process.stdout.write(`\r\n(${++taken})\r\n> `);
  if (deafEvery === 0 || taken % deafEvery !== 0) return;
  isDeaf = true;
  setTimeout(() => {
    isDeaf = false;
  }, 1500);
}
