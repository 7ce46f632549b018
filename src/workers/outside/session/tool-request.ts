import { createHash } from "node:crypto";

/**
 * What a program asks permission for, from the fields it will be carried out by. What the program or its model says
 * about it (`title`) is kept apart: it decides nothing and allows nothing.
 */
export interface ToolRequest {
  tool: string;
  /** The kind of action, as the program says: `execute`, `edit`, `read` … */
  category?: string | undefined;
  /** Everything the tool is called with. */
  args: unknown;
  /** Other arguments that the program had announced for the same call before it asked. */
  announced?: unknown;
  /** Files that it says it touches, besides those in the arguments. */
  paths?: readonly string[];
  changes?: readonly FileChange[];
  /** What it shows in place of arguments. */
  shown?: string;
  /** The program's own words about it. */
  title?: string | undefined;
  /** It asked for something else under the same call, and changed that before the answer came. */
  isChanged?: boolean;
}

export interface FileChange {
  path: string;
  before: string | null;
  after: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The arguments by name; none where they are not an object. */
export function fieldsOf(args: unknown): Fields {
  return typeof args === "object" && args !== null && !Array.isArray(args) ? (args as Fields) : {};
}

/** The command it would run, as one would type it, and the name of the field that holds it. */
export function commandOf({ args }: Pick<ToolRequest, "args">): { field: string; command: string } | undefined {
  const fields = fieldsOf(args);
  for (const field of ["command", "cmd", "script", "commandLine"]) {
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (typeof value === "string") return { field, command: value };
    if (Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === "string"))
      return { field, command: value.map(quoted).join(" ") };
  }
  return undefined;
}

const PATH_FIELDS = ["file_path", "filePath", "filepath", "path", "notebook_path", "absolute_path"];

/** Every file that it names anywhere, each once. */
export function pathsOf({ args, paths = [], changes = [] }: ToolRequest): string[] {
  const fields = fieldsOf(args);
  const named = PATH_FIELDS.map((name) => (Object.hasOwn(fields, name) ? fields[name] : undefined));
  const inArgs = named.filter((path) => typeof path === "string");
  return [...new Set([...inArgs, ...paths, ...changes.map(({ path }) => path)])];
}

export function isPathField(name: string): boolean {
  return PATH_FIELDS.includes(name);
}

/** The program's own words about a call; a tool that runs commands has them among its arguments. */
export function titlesOf(request: ToolRequest): string[] {
  const command = commandOf(request)?.command;
  const described = command === undefined ? undefined : fieldsOf(request.args).description;
  const titles = [request.title, described].filter((words) => typeof words === "string" && words.trim() !== "");
  return [...new Set(titles as string[])].filter((words) => words !== command);
}

/** What kind of thing is done, by what it is called with rather than by what it is called. */
export function categoryOf(request: ToolRequest): string {
  if (commandOf(request)) return "execute";
  if (request.category) return request.category;
  if (/^(bash|shell)$/i.test(request.tool)) return "execute";
  if (/^(write|edit|multiedit|notebookedit|write_file|replace)$/i.test(request.tool)) return "edit";
  if (/^(read|read_file|read_many_files)$/i.test(request.tool)) return "read";
  return /^(webfetch|web_fetch|fetch)$/i.test(request.tool) ? "fetch" : "other";
}

/** What "always" allows, and how that is said to a person. */
export interface Rule {
  key: string;
  choice: string;
}

/**
 * Exactly this: the tool, its kind and all it is called with. Only for a tool that works on one file is it the tool and
 * that file, whatever is written there: asking for every edit again would teach people to say yes. A program's own
 * words are no part of it. Undefined where the program does not say what it will do: a yes to that is for once.
 */
export function ruleOf(request: ToolRequest): Rule | undefined {
  const { tool, args } = request;
  const category = categoryOf(request);
  const [path, ...others] = pathsOf(request);
  if ((category === "edit" || category === "read") && path !== undefined && others.length === 0)
    return { key: hashOf(["path", tool, category, path]), choice: "always allow this tool on exactly this file" };
  const choice = `always allow exactly this ${category === "execute" ? "command" : "call"}`;
  const isCommand = commandOf(request) !== undefined;
  if (category === "execute" ? !isCommand : saysNothing(request)) return undefined;
  const exact = isCommand ? Object.entries(fieldsOf(args)).filter(([name]) => name !== "description") : args;
  return { key: hashOf(["exact", tool, category, exact, ...detailsOf(request)]), choice };
}

function saysNothing(request: ToolRequest): boolean {
  const { args, shown, changes = [] } = request;
  const isEmpty = args === null || args === undefined || JSON.stringify(args) === "{}";
  return isEmpty && !shown && changes.length === 0 && pathsOf(request).length === 0;
}

/**
 * The same request is asked once, also after a restart: everything about it but the program's own words. The prefix is
 * what questions and files of earlier versions are found by.
 */
export function requestKey(request: ToolRequest): string {
  const { tool, category = null, args } = request;
  return `wish-${hashOf([tool, category, args, ...detailsOf(request)]).slice(0, 16)}`;
}

function detailsOf({ announced, paths = [], changes = [], shown }: ToolRequest): unknown[] {
  return [announced ?? null, paths, changes, shown ?? null];
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** As a shell would read it as one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
