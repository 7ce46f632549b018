import { isAbsolute, relative, resolve } from "node:path";
import { categoryOf, commandOf, fieldsOf, pathsOf, type ToolRequest } from "./tool-request.ts";

/**
 * `Bash(npm test:*)`, `Edit(docs/**)`, `WebFetch`: what a person has allowed beforehand, finer than a tool, in the form
 * that Claude Code has for it. It means the same for every program.
 *
 * RULE-1. A rule is about what will be done, never about what the program calls it: `Bash` is whatever runs a command,
 *     `Edit` and `Read` whatever works on files.
 * RULE-2. A rule for a command allows that one command: none with a second one in it, a redirection or anything else
 *     that the shell would act on.
 * RULE-3. A rule for files holds for files in the folder where the program works, and only if it fits all of them.
 */
export function isAllowedBy(rules: readonly string[], request: ToolRequest, cwd: string): boolean {
  if (request.isChanged) return false;
  return rules.some((rule) => fits(rule, request, cwd));
}

function fits(rule: string, request: ToolRequest, cwd: string): boolean {
  const [, name = "", pattern] = RULE.exec(rule) ?? [];
  const category = Object.hasOwn(CATEGORIES, name) ? CATEGORIES[name] : undefined;
  if (category === undefined) return pattern === undefined && request.tool === name;
  if (categoryOf(request) !== category) return false;
  if (pattern === undefined) return category === "execute" ? oneCommand(request) !== undefined : true;
  return category === "execute" ? fitsCommand(pattern, request) : fitsPaths(pattern, pathsOf(request), cwd);
}

const RULE = /^([A-Za-z][\w.-]*)(?:\((.+)\))?$/;

const CATEGORIES: Readonly<Record<string, string>> = {
  Bash: "execute",
  Edit: "edit",
  Write: "edit",
  Read: "read",
};

function fitsCommand(pattern: string, request: ToolRequest): boolean {
  const command = oneCommand(request);
  if (command === undefined) return false;
  if (!pattern.endsWith(":*")) return command === pattern;
  const prefix = pattern.slice(0, -":*".length);
  return command === prefix || command.startsWith(`${prefix} `);
}

/** The command, if a shell would do nothing else for it; without the shell that a program puts around it. */
function oneCommand(request: ToolRequest): string | undefined {
  const found = commandOf(request);
  // opencode announces a call with its model's words about it, and asks without them.
  if (request.announced !== undefined && commandOf({ args: request.announced })?.command !== found?.command)
    return undefined;
  if (!found) return undefined;
  const command = (scriptIn(fieldsOf(request.args)[found.field]) ?? found.command).trim();
  return command !== "" && PLAIN.test(command) ? command : undefined;
}

/** `["bash", "-lc", "npm test"]` */
function scriptIn(words: unknown): string | undefined {
  if (!Array.isArray(words) || words.length !== 3) return undefined;
  const [shell, option, script] = words as unknown[];
  const isShell = typeof shell === "string" && /^(\/usr)?(\/bin\/)?(ba|z|da)?sh$/.test(shell);
  return isShell && (option === "-c" || option === "-lc") && typeof script === "string" ? script : undefined;
}

/** Letters, digits, spaces, quotes and what file names and options are made of: nothing that a shell acts on. */
const PLAIN = /^[\p{L}\p{N} '"_@%+=:,./^-]+$/u;

function fitsPaths(pattern: string, paths: readonly string[], cwd: string): boolean {
  if (paths.length === 0) return false;
  const glob = globOf(pattern.replace(/^\.\//, ""));
  return paths.every((path) => {
    const inside = relative(cwd, resolve(cwd, path));
    return inside !== "" && !inside.startsWith("..") && !isAbsolute(inside) && glob.test(inside);
  });
}

/** `*` is within a name, `**` over folders. */
function globOf(pattern: string): RegExp {
  const parts = pattern.split(/(\*\*\/?|\*)/).map((part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    return part === "*" ? "[^/]*" : part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`, "u");
}
