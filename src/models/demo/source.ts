import { kindOf } from "./file-kind.ts";
import type { Heading } from "./prose.ts";

/** The outline of a file that is no prose: what code defines, what data is made of. */
export function namesIn(path: string, text: string): Heading[] {
  const { name, family } = kindOf(path);
  const names = family === "code" ? definitionsIn(text) : (DATA.get(name)?.(text) ?? []);
  return [...new Set(names)].map((text) => ({ level: 1, text }));
}

/** What the head of the file says about itself, or else what it holds. */
export function sourceTitle(path: string, text: string): string {
  const names = namesIn(path, text).map(({ text }) => text);
  const lines = text.split("\n");
  const comment = kindOf(path).family === "code" ? lines.slice(0, 30).flatMap(commentIn)[0] : undefined;
  const first = lines.find(
    (line) => /[\p{L}\p{N}]/u.test(line) && !/^\s*(?:#!|(?:import|from|use|package|#include)\b)/.test(line),
  );
  return comment || names.slice(0, 4).join(", ") || (first ?? "").trim();
}

function commentIn(line: string): string[] {
  const words = /^\s*(?:\/\/[/!]?|\/\*\*?|\*(?!\/)|#(?![!\w])|--|;+|"""|<!--)\s*(.*?)\s*(?:\*\/|-->|""")?$/.exec(
    line,
  )?.[1];
  return words && /\p{L}.*\s.*\p{L}/u.test(words) ? [words] : [];
}

const DEFINITIONS = [
  /^\s{0,4}(?:export\s+)?(?:default\s+)?(?:abstract\s+|async\s+|declare\s+)*(?:class|interface|function\*?|enum|type|namespace|module)\s+([\p{L}_$][\p{L}\p{N}_$]*)/u,
  /^export\s+(?:const|let|var)\s+([\p{L}_$][\p{L}\p{N}_$]*)/u,
  /^\s{0,4}(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+)*(?:fn|struct|trait|enum|mod)\s+([\p{L}_][\p{L}\p{N}_]*)/u,
  /^\s{0,4}(?:async\s+)?def\s+([\p{L}_][\p{L}\p{N}_.]*[?!]?)/u,
  /^func\s+(?:\([^)]*\)\s*)?([\p{L}_][\p{L}\p{N}_]*)/u,
  /^\s{0,4}(?:(?:public|private|protected|internal|static|final|sealed|open|data|override|suspend)\s+)+(?:class|interface|record|enum|struct|object|fun)\s+([\p{L}_][\p{L}\p{N}_]*)/u,
  /^(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)\s*\{/,
  /^\s*create\s+(?:or\s+replace\s+)?(?:table|view|index|function)\s+(?:if\s+not\s+exists\s+)?([\w."]+)/i,
];

function definitionsIn(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    for (const definition of DEFINITIONS) {
      const name = definition.exec(line)?.[1];
      if (name) return [name];
    }
    return [];
  });
}

const DATA: ReadonlyMap<string, (text: string) => string[]> = new Map([
  ["JSON", keysOfJson],
  ["YAML", (text) => [...text.matchAll(/^([\w"'.-][\w"' .-]*):(?:\s|$)/gm)].flatMap(([, key]) => key ?? [])],
  [
    "TOML",
    (text) => [...text.matchAll(/^(?:\[+([^\]]+)\]+|([\w.-]+)\s*=)/gm)].flatMap(([, table, key]) => table ?? key ?? []),
  ],
  [
    "settings",
    (text) => [...text.matchAll(/^(?:\[([^\]]+)\]|([\w.-]+)\s*=)/gm)].flatMap(([, table, key]) => table ?? key ?? []),
  ],
  [
    "CSV",
    (text) => (text.split("\n", 1)[0] ?? "").split(/[,;\t]/).map((column) => column.trim().replace(/^"|"$/g, "")),
  ],
]);

/** The keys at the top; of a list or of JSON lines, those of the first element. */
function keysOfJson(text: string): string[] {
  const value = parsed(text) ?? parsed(text.split("\n", 1)[0] ?? "");
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "object" && first !== null && !Array.isArray(first) ? Object.keys(first) : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // cut off, or no JSON: then it has no outline
  }
}
