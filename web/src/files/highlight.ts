import { createBundledHighlighter, createSingletonShorthands, type GrammarState, type ThemedToken } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

/** The languages that teams write most; each is a separate file, loaded on demand. */
const langs = {
  typescript: () => import("shiki/langs/typescript.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  shellscript: () => import("shiki/langs/shellscript.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
} as const;
type Lang = keyof typeof langs;

const ENDINGS: Readonly<Record<string, Lang>> = {
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsx: "javascript",
  py: "python",
  json: "json",
  jsonl: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "toml",
  sh: "shellscript",
  bash: "shellscript",
  rs: "rust",
  go: "go",
  java: "java",
  c: "c",
  h: "c",
  css: "css",
  html: "html",
  xml: "xml",
  svg: "xml",
  sql: "sql",
  diff: "diff",
  patch: "diff",
  md: "markdown",
};

const themes = {
  "github-light-default": () => import("shiki/themes/github-light-default.mjs"),
  "github-dark-default": () => import("shiki/themes/github-dark-default.mjs"),
} as const;

const { codeToTokens } = createSingletonShorthands(
  createBundledHighlighter<Lang, keyof typeof themes>({
    langs,
    themes,
    engine: () => createJavaScriptRegexEngine({ forgiving: true }),
  }),
);

export interface ColouredToken {
  content: string;
  light: string;
  dark: string;
}

/** Rules for colours may take the square of a line's length: longer ones stay plain. */
const LONGEST_LINE = 500;
/** Read in one go; between two the page does whatever else there is to do. */
const GO = 4000;
const PATIENCE_MS = 1500;

/**
 * Null if the language is unknown: plain text then. Text that takes too long is highlighted up to a time limit; the
 * rest is plain.
 */
export async function coloured(text: string, kind: string, atOnce = GO): Promise<ColouredToken[][] | null> {
  const lang = Object.hasOwn(ENDINGS, kind) ? ENDINGS[kind] : undefined;
  if (!lang) return null;
  const lines: ColouredToken[][] = [];
  let grammarState: GrammarState | undefined;
  const end = performance.now() + PATIENCE_MS;
  for (const part of partsOf(text, atOnce)) {
    if (performance.now() > end) {
      for (const line of part.split("\n")) lines.push([{ content: line, light: "currentColor", dark: "currentColor" }]);
      continue;
    }
    const done = await codeToTokens(part, {
      lang,
      themes: { light: "github-light-default", dark: "github-dark-default" },
      defaultColor: false,
      tokenizeMaxLineLength: LONGEST_LINE,
      ...(grammarState && { grammarState }),
    });
    grammarState = done.grammarState;
    lines.push(...colouredLines(done.tokens));
    await new Promise((next) => setTimeout(next));
  }
  return lines;
}

/** Whole lines, some at a time. */
function partsOf(text: string, atOnce: number): string[] {
  const parts: string[] = [];
  for (let at = 0; at <= text.length; ) {
    const newline = text.indexOf("\n", at + atOnce);
    const end = newline < 0 ? text.length : newline;
    parts.push(text.slice(at, end));
    at = end + 1;
  }
  return parts;
}

function colouredLines(tokens: readonly ThemedToken[][]): ColouredToken[][] {
  return tokens.map((line) => {
    const out: ColouredToken[] = [];
    for (const { content, htmlStyle } of line) {
      const style = typeof htmlStyle === "object" ? htmlStyle : {};
      const light = style["--shiki-light"] ?? "currentColor";
      const dark = style["--shiki-dark"] ?? "currentColor";
      const before = out.at(-1);
      if (before?.light === light && before.dark === dark) before.content += content;
      else out.push({ content, light, dark });
    }
    return out;
  });
}
