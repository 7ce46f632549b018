import { createBundledHighlighter, createSingletonShorthands } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

/** The languages that teams write most; each is a file of its own, loaded when it is wanted. */
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

/** Null where the language is not known: plain text then. */
export async function coloured(text: string, kind: string): Promise<ColouredToken[][] | null> {
  const lang = ENDINGS[kind];
  if (!lang) return null;
  const { tokens } = await codeToTokens(text, {
    lang,
    themes: { light: "github-light-default", dark: "github-dark-default" },
    defaultColor: false,
  });
  return tokens.map((line) =>
    line.map(({ content, htmlStyle }) => {
      const style = typeof htmlStyle === "object" ? htmlStyle : {};
      return {
        content,
        light: style["--shiki-light"] ?? "currentColor",
        dark: style["--shiki-dark"] ?? "currentColor",
      };
    }),
  );
}
