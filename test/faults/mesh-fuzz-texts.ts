import { messageHeaderSchema } from "../../src/protocol/index.ts";
import type { Dice } from "../simulation/dice.ts";

/** Whoever runs any of it is found out: by this, or by a file of this name. */
export const CANARY = "mesh-fuzz-canary";
const RUNS = `globalThis.meshFuzzRan = 1; require("node:fs").writeFileSync("${CANARY}", "")`;
const NASTY = [
  "&a [*a,*a]",
  "*x",
  "!!js/function 'function(){globalThis.meshFuzzRan = 1}'",
  "!!binary aGk=",
  "!<tag:x> y",
  "|",
  ">-",
  "|+2",
  "[",
  "{",
  "[[[[[[",
  "{a: {b: {c: 1}}}",
  "? x",
  "- - - -",
  "%YAML 1.2",
  "@x",
  "`x`",
  "'",
  '"',
  '"\\u',
  '"\\ud800"',
  "'a''b'",
  '"a\\nb"',
  "no",
  "~",
  "null",
  "0x10",
  "1e999",
  "2025-01-01",
  "a: b",
  "a # c",
  "#c",
  "\u0000",
  "\u0007",
  "\ud800",
  "\u2028",
  "\ufeff",
  "\u202e",
  "\r",
  "\t",
  "é",
  "漢",
  "😀",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  `$(touch ${CANARY})`,
  `; touch ${CANARY};`,
  "<<",
  "=",
  " ",
  "x".repeat(300),
];
const KEYS = Object.keys(messageHeaderSchema.shape);
const ODD_KEYS = [
  "__proto__",
  "constructor",
  "<<",
  "?",
  "",
  "a b",
  "k".repeat(70_000),
  "ключ",
  "*a",
  "&a",
  "from ",
  "From",
  "toString",
];

export function messageText(dice: Dice): string {
  switch (dice.int(14)) {
    case 0:
      return garbage(dice, dice.int(400));
    case 1:
      return `---js\n${RUNS}\n---\n`;
    case 2:
      return `---\n${bomb(dice)}\n---\n`;
    case 3:
      return `---\n${"[".repeat(dice.int(60_000))}\n---\n`;
    case 4:
      return `---\na: ${"- ".repeat(dice.int(30_000))}\n---\n`;
    case 5:
      return `---\n${Array.from({ length: dice.int(2_000) }, (_, depth) => `${" ".repeat(depth % 400)}k:`).join("\n")}\n---\n`;
    case 6:
      return `---\nfrom: a\nto: ${dice.pick([" ", "\t", "a ", "# ", "'' "]).repeat(dice.int(30_000))}x\ntype: task\n---\n`;
    case 7:
      return `---\n${`k${dice.int(9)}: "${"\\\\".repeat(dice.int(20_000))}"`}\n---\n`;
    default:
      return header(dice);
  }
}

function bomb(dice: Dice): string {
  const lines = ["a: &a [x,x,x,x,x,x,x,x,x]"];
  for (let level = 1; level < 9; level++) lines.push(`b${level}: &b${level} [${"*a,".repeat(9)}]`);
  return dice.chance(0.5) ? lines.join("\n") : `from: a\n<<: *a\n${lines.join("\n")}`;
}

/** A message by a careful person, with a few things gone wrong. */
function header(dice: Dice): string {
  const line = dice.pick(["\n", "\n", "\r\n"]);
  const fields = new Map([
    ["from", dice.pick(["human", '"human"', "'human'", "m/a"])],
    ["to", "m"],
    ["type", dice.pick(["task", "task", "task", "ask", '"task"'])],
  ]);
  if (dice.chance(0.3)) fields.set("timestamp", "2025-10-17T10:00:00Z");
  for (let wrongs = dice.int(4); wrongs > 0; wrongs--) {
    const key = dice.chance(0.75) ? dice.pick(KEYS) : dice.pick(ODD_KEYS);
    fields.set(key, dice.chance(0.8) ? dice.pick(NASTY) : garbage(dice, 40));
  }
  const lines = [...fields].map(([key, value]) => `${key}:${dice.pick([" ", " ", "  ", ""])}${value}`);
  if (dice.chance(0.1)) lines.push(lines[0] ?? "");
  if (dice.chance(0.1)) lines.push(`${" ".repeat(dice.int(5))}${dice.pick(NASTY)}`);
  const begin = dice.pick(["---", "---", "---", "--- ", "\ufeff---", "----", "---yaml", "+++"]);
  const close = dice.pick(["---", "---", "---", "--- \t", "...", "----", ""]);
  return [begin, ...lines, close, "# Words", garbage(dice, 20)].join(line);
}

function garbage(dice: Dice, length: number): string {
  const signs = [
    "a",
    ":",
    " ",
    "\n",
    "-",
    "#",
    "'",
    '"',
    "[",
    "{",
    "&",
    "*",
    "!",
    "|",
    "\u0000",
    "\ud83d",
    "\udca9",
    "é",
    "\t",
    "\r",
    "\u0085",
  ];
  return Array.from({ length }, () => dice.pick(signs)).join("");
}

export function nameText(dice: Dice): string {
  const parts = [
    "a",
    ".",
    "~2",
    " ",
    "漢",
    "😀",
    "..",
    "result",
    ".0",
    "\n",
    "\u0007",
    "\\",
    "'",
    '"',
    "&",
    "-",
    "é",
    "%2f",
    `$(touch ${CANARY})`,
    `;touch ${CANARY};`,
    ".reason",
    "#",
    ":",
  ];
  return Array.from({ length: dice.int(60) + 1 }, () => dice.pick(parts)).join("");
}

/** As much of it as a file system takes. */
export function cutName(name: string, bytes: number): string {
  let cut = name;
  while (Buffer.byteLength(cut) > bytes) cut = [...cut].slice(0, -1).join("");
  return cut;
}

export function configText(dice: Dice): string {
  switch (dice.int(8)) {
    case 0:
      return garbage(dice, dice.int(200));
    case 1:
      return `${'{"sequential":['.repeat(dice.int(3_000))}"a"`;
    case 2:
      return deepConfig(dice.pick([2, 20, 200, 20_000]));
    default: {
      const config: Record<string, unknown> = {
        mesh: "m",
        type: dice.pick(["persistent", "task", "sequential", "map-reduce", "parallel"]),
        agents: ["x/a", "x/b", "c"],
      };
      for (let wrongs = dice.int(4); wrongs > 0; wrongs--) {
        const key = dice.pick([
          "mesh",
          "type",
          "agents",
          "workflow",
          "topology",
          "storage",
          "validation_gates",
          "entry_point",
          "completion_agent",
          "__proto__",
          "extra",
          "description",
        ]);
        config[key] = value(dice, 4);
      }
      return JSON.stringify(config);
    }
  }
}

function deepConfig(depth: number): string {
  const workflow = `${'[{"sequential":'.repeat(depth)}["a"]${"}]".repeat(depth)}`;
  return `{"mesh":"m","type":"task","agents":["x/a"],"workflow":${workflow}}`;
}

function value(dice: Dice, depth: number): unknown {
  const kind = depth === 0 ? dice.int(3) : dice.int(8);
  const some = () => Array.from({ length: dice.int(5) }, () => value(dice, depth - 1));
  if (kind <= 1)
    return dice.pick([
      "a",
      "b",
      "c",
      "x/a",
      "z",
      "../a",
      "",
      "output-exists",
      "parallel",
      "sequential",
      "\ud800",
      "a\u0000",
    ]);
  if (kind === 2) return dice.pick([null, true, 0, -1, 1e300, "x".repeat(11_000)]);
  if (kind === 3) return { map: some(), reduce: some() };
  if (kind === 4) return { parallel: some() };
  if (kind === 5) return { shared: true, concepts_path: dice.pick(["shared/concepts", "../..", "/etc", "a/../../b"]) };
  return some();
}
