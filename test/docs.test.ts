import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { z } from "zod";
import { createAgiraph } from "../src/cli/agiraph-command.ts";
import { MODEL_VARIABLES } from "../src/cli/command-line/common-help.ts";
import { Terminal } from "../src/cli/terminal.ts";
import { createTx } from "../src/cli/tx-command.ts";
import { webhookBody } from "../src/mail/channels/webhook.ts";
import { PROVIDERS } from "../src/models/catalog/providers.ts";
import { configSchema } from "../src/protocol/config.ts";
import { projectFileSchema } from "../src/protocol/project-config.ts";
import { conditionSchema, triggerActionSchema } from "../src/protocol/trigger.ts";
import { parseConfig } from "../src/runtime/config/config-file.ts";
import { triggerOrderSchema } from "../src/tools/schedule.ts";
import { KNOWN_PROGRAMS } from "../src/workers/outside/programs.ts";
import { PROMPT_NAMES } from "../src/workers/prompt.ts";

/**
 * What people read is true.
 *
 * DOCS-1. The README is short, and has the two commands of the contract to the letter. It and the help name the key and
 *         the address of every provider.
 * DOCS-2. Every link between our pages leads to a file, and every anchor to a heading.
 * DOCS-3. docs/configuration.md names every field of config.json and every environment variable, and no field that
 *         does not exist.
 * DOCS-4. docs/commands.md names every command, in the groups of the help, and the pages name every option. Every
 *         example of the help is a call of a command, with options that it has.
 * DOCS-5. Every message in docs/troubleshooting.md is one that the program prints.
 * DOCS-6. Every example of config.json or of a trigger can be used as it is written, and what a webhook receives is as
 *         it is shown.
 * DOCS-7. Every word is in the glossary once.
 * DOCS-8. Every decision has one line in docs/decisions/README.md, and every file of the code that one names exists.
 */
const ROOT = join(import.meta.dirname, "..");
const textOf = (path: string) => readFileSync(join(ROOT, path), "utf8");
const PAGES = ["README.md", ...globSync("docs/*.md", { cwd: ROOT }).sort()];
const CONFIGURATION = textOf("docs/configuration.md");
const SOURCES = globSync("src/**/*.ts", { cwd: ROOT })
  .filter((path) => !path.endsWith(".test.ts") && !path.includes("/testing/"))
  .map(textOf)
  .join("\n");

test("the README has at most 900 words, and the two commands of the contract", () => {
  const readme = textOf("README.md");
  expect(readme.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(900);
  const lines = readme.split("\n");
  expect(lines).toContain('npm ci && npm start -- run "Survey the files in ./docs and write a report"');
  expect(lines).toContain("npm ci && npm test");
});

test.each(PAGES)("every link of %s leads somewhere", (page) => {
  const found = [...textOf(page).matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(([, link, src]) => link ?? src ?? "");
  const broken = found.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const file = path === "" ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
    if (!existsSync(file)) return true;
    return anchor !== undefined && !anchorsIn(readFileSync(file, "utf8")).includes(anchor);
  });
  expect(broken).toEqual([]);
});

/** As GitHub makes them. */
function anchorsIn(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("every page is in the index", () => {
  const index = textOf("docs/README.md");
  expect(PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/README.md")).toEqual(
    expect.arrayContaining([...index.matchAll(/\]\(([a-zA-Z-]+\.md)\)/g)].map(([, file]) => `docs/${file}`)),
  );
  const missing = PAGES.filter((page) => page.startsWith("docs/") && !index.includes(`(${page.slice(5)})`));
  expect(missing).toEqual(["docs/README.md"]);
});

/** Where the fields of a record are described, which the person names. */
const SECTIONS: Readonly<Record<string, string>> = {
  providers: "Providers and models",
  models: "Providers and models",
  programs: "Programs",
  mcp_servers: "MCP servers",
  projects: "Projects",
  channels: "Channels",
};

test("the configuration page names every field of config.json", () => {
  const missing = FIELDS.filter(
    ({ record, path }) => !(record ? sectionOf(SECTIONS[record] ?? "") : CONFIGURATION).includes(`\`${path}\``),
  );
  expect(missing).toEqual([]);
});

test("the configuration page names no field that does not exist", () => {
  const known = new Set(FIELDS.map(({ path }) => path));
  const part = CONFIGURATION.slice(0, CONFIGURATION.indexOf("\n## Environment variables"));
  const firstCells = [...part.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = ""]) => cell);
  const named = firstCells
    .filter((cell) => !cell.startsWith("field"))
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

function sectionOf(title: string): string {
  return CONFIGURATION.split(/^#+ /m).find((part) => part.startsWith(`${title}\n`)) ?? "";
}

interface Shape {
  properties?: Record<string, Shape>;
  additionalProperties?: Shape | boolean;
  anyOf?: Shape[];
}

interface Field {
  /** The record that it is a field of, and that has names of the person's choosing. */
  record?: string;
  path: string;
}

const FIELDS: readonly Field[] = fieldsOf(
  z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" }) as Shape,
);

function fieldsOf(shape: Shape, before: readonly string[] = [], record?: string): Field[] {
  if (shape.anyOf) return shape.anyOf.flatMap((one) => fieldsOf(one, before, record));
  const { properties, additionalProperties: more } = shape;
  if (properties)
    return Object.entries(properties).flatMap(([name, inner]) => fieldsOf(inner, [...before, name], record));
  // Records within records map a name to a value: they are described as one field.
  if (typeof more === "object" && more.properties !== undefined) return fieldsOf(more, [], before.join("."));
  if (typeof more === "object" && more.anyOf !== undefined) return fieldsOf(more, [], before.join("."));
  return [{ path: before.join("."), ...(record !== undefined && { record }) }];
}

test("the configuration page names every environment variable", () => {
  const read = [...SOURCES.matchAll(/\benv\??\.([A-Z][A-Z0-9_]+)/g)].map(([, name = ""]) => name);
  const ours = [...SOURCES.matchAll(/\b(?:AGIRAPH|TX)_[A-Z_]+\b/g)].map(([name]) => name);
  const search = [...SOURCES.matchAll(/key: "([A-Z]+)_API_KEY"/g)];
  const named = new Set([
    ...read,
    ...ours,
    ...search.flatMap(([, vendor]) => [`${vendor}_API_KEY`, `${vendor}_BASE_URL`]),
    ...PROVIDERS.flatMap(({ keyVariable, urlVariable }) => [keyVariable ?? urlVariable, urlVariable]),
    ...Object.values(KNOWN_PROGRAMS).flatMap(({ env = [] }) => env),
  ]);
  expect(named.size).toBeGreaterThan(45);
  expect([...named].filter((name) => !CONFIGURATION.includes(`\`${name}\``)).sort()).toEqual([]);
});

test("README and help name the key and the address of every provider", () => {
  const variables = PROVIDERS.flatMap(({ keyVariable, urlVariable }) => [keyVariable ?? urlVariable, urlVariable]);
  expect(variables.length).toBeGreaterThan(8);
  for (const text of [textOf("README.md"), MODEL_VARIABLES])
    expect(variables.filter((name) => !text.includes(name))).toEqual([]);
});

test("the configuration page names every prompt that can be replaced", () => {
  expect(PROMPT_NAMES.filter((name) => !CONFIGURATION.includes(`\`${name}.md\``))).toEqual([]);
});

const terminal = new Terminal(
  { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
  {},
  ROOT,
);

test.each([
  ["agiraph", createAgiraph(terminal, () => {})],
  ["tx", createTx(terminal, () => {})],
])("every command and option of %s is described", (name, program) => {
  const commands = textOf("docs/commands.md");
  const all = PAGES.map(textOf).join("\n");
  const shown = program.commands.filter((command) => command.name() !== "names" && command.name() !== "tx");
  const undescribed = shown.filter((command) => !commands.includes(`\`${name} ${command.name()}`));
  expect(undescribed.map((command) => command.name())).toEqual([]);
  const options = [program, ...shown].flatMap(longOptions);
  expect(options.filter((option) => !new RegExp(`${option}\\b`).test(all))).toEqual([]);
});

test("the page of commands has the groups of the help", () => {
  const titles = [...textOf("docs/commands.md").matchAll(/^## (.+)$/gm)].map(([, title]) => `${title}:`);
  const groups = createAgiraph(terminal, () => {}).commands.map((command) => command.helpGroup());
  expect(titles).toEqual([...new Set(groups)]);
});

test.each([
  ["agiraph", createAgiraph(terminal, () => {})],
  ["tx", createTx(terminal, () => {})],
])("every example in the help of %s can be typed", (name, program) => {
  const shown = program.commands.filter((command) => command.name() !== "names");
  const wrong = [program, ...shown].flatMap((command) => {
    const examples = examplesOf(command).filter((line) => line.startsWith(`${name} `));
    const unusable = examples.filter((line) => !canBeTyped(line, program));
    return examples.length === 0 ? [`${command.name()} has no example`] : unusable;
  });
  expect(wrong).toEqual([]);
});

function examplesOf(command: Command): string[] {
  let text = "";
  command.configureOutput({ writeOut: (more) => (text += more) });
  command.outputHelp();
  const [, block = ""] = /\nExamples:\n((?: {2}.*\n)+)/.exec(text) ?? [];
  return block.split("\n").flatMap((line) => line.trim() || []);
}

/** Its command is there, with as many arguments as it takes, and its options are the command's own. */
function canBeTyped(line: string, program: Command): boolean {
  const words = (line.split(" > ")[0] ?? "").match(/"[^"]*"|'[^']*'|\S+/g)?.slice(1) ?? [];
  const command = program.commands.find((one) => one.name() === words[0]);
  if (!command) return false;
  const { operands, unknown } = command.parseOptions(words.slice(1));
  const needed = command.registeredArguments.filter((argument) => argument.required).length;
  const isVariadic = command.registeredArguments.some((argument) => argument.variadic);
  const isTooMany = !isVariadic && operands.length > command.registeredArguments.length;
  const isKnown = unknown.every((word) => program.options.some((option) => option.long === word));
  return isKnown && operands.length >= needed && !isTooMany;
}

function longOptions(command: Command): string[] {
  return command.options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ long }) => (long && long !== "--version" ? [long] : []));
}

test("every message in the troubleshooting guide is one of the program's", () => {
  const titles = [...textOf("docs/troubleshooting.md").matchAll(/^### `([^`]+)`$/gm)].map(([, title = ""]) => title);
  expect(titles.length).toBeGreaterThan(30);
  const pieces = titles.flatMap((title) => title.split("…").map((piece) => piece.trim().replace(/^,/, "").trim()));
  expect(pieces.filter((piece) => piece !== "" && !SOURCES.includes(piece))).toEqual([]);
});

const BLOCKS = PAGES.flatMap((page) =>
  [...textOf(page).matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = ""]) => ({ page, text })),
);

/** Examples of other files, and of parts. */
const NOT_A_CONFIG = ["docs/meshes.md", "docs/repository.md", "docs/triggers.md"];

test("every config.json that is shown can be used", () => {
  const shown = BLOCKS.filter(({ page }) => !NOT_A_CONFIG.includes(page));
  expect(shown.length).toBeGreaterThan(8);
  for (const { page, text } of shown) expect(() => parseConfig(page, text), page).not.toThrow();
});

test("the body of a plain delivery is as the guide of channels shows it", () => {
  const [, shown = ""] = /^```js\n(.*?)^```$/ms.exec(textOf("docs/channels.md")) ?? [];
  const { question, kind: _, version: __, at, ...head } = JSON.parse(shown);
  const { id: of, ...words } = question;
  const said = { ...head, ...words, of, fact: 12, ts: Date.parse(at) / 1000, topic: "questions" };
  expect(webhookBody(said)).toEqual(JSON.parse(shown));
});

test("every project.json that is shown can be used", () => {
  const shown = BLOCKS.filter(({ page }) => page === "docs/repository.md");
  expect(shown.length).toBeGreaterThan(0);
  for (const { text } of shown) expect(projectFileSchema.safeParse(JSON.parse(text)).error).toBeUndefined();
});

test("every trigger and every action that is shown can be used", () => {
  const guide = textOf("docs/triggers.md");
  const actions = BLOCKS.filter(({ page }) => page === "docs/triggers.md").flatMap(({ text }) =>
    text.trim().split("\n"),
  );
  expect(actions.map((line) => triggerActionSchema.parse(JSON.parse(line)).type).sort()).toEqual([
    ...["run_callback", "run_node", "send_message", "wake_agent"],
  ]);
  const rows = [...guide.matchAll(/^\| `(\w+)` \| `(\{[^`]+\})`/gm)].map(([, type, config = ""]) => ({
    type,
    config: JSON.parse(config),
    action: "Look again",
  }));
  const added = PAGES.flatMap((page) => [...textOf(page).matchAll(/--add '([^']+)'/g)]).map(([, json = ""]) =>
    JSON.parse(json),
  );
  for (const order of [...rows, ...added]) {
    const { type, config } = triggerOrderSchema.parse(order);
    expect(conditionSchema.safeParse({ type, config }).error, type).toBeUndefined();
  }
  expect(rows.map(({ type }) => type)).toEqual([
    ...["scheduled", "delayed", "at_time", "heartbeat", "on_event", "on_idle", "on_change"],
  ]);
});

test("every word is in the glossary once", () => {
  const words = [...textOf("docs/GLOSSARY.md").matchAll(/^\| ([^|]+?)(?: \([^|]+\))? \|/gm)].map(([, word]) => word);
  expect(words.length).toBeGreaterThan(80);
  expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
});

const DECISIONS = globSync("docs/decisions/*.md", { cwd: ROOT }).sort();

test("every decision has one line in the index", () => {
  const index = "docs/decisions/README.md";
  const listed = [...textOf(index).matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\) \| \S/gm)].map(
    ([, file]) => `docs/decisions/${file}`,
  );
  expect(listed.sort()).toEqual(DECISIONS.filter((page) => page !== index));
});

test("every file of the code that a decision or a guide for developers names exists", () => {
  const files = globSync("{src,web,test,scripts,bench,examples}/**/*.{ts,tsx,mjs}", { cwd: ROOT });
  const missing = [...DECISIONS, "CONTRIBUTING.md", "AGENTS.md"].flatMap((page) =>
    [...textOf(page).matchAll(/`([\w./-]+\.(?:ts|tsx|mjs))`/g)]
      .map(([, path = ""]) => path)
      .filter((path) => !files.some((file) => file === path || file.endsWith(`/${path}`)))
      .map((path) => `${page}: ${path}`),
  );
  expect(missing).toEqual([]);
});
