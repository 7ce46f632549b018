import type { z } from "zod";
import { nearest } from "../../boundary/nearest.ts";
import { expectedWords } from "../../boundary/schema-words.ts";
import type { Config } from "../../protocol/config.ts";

/**
 * The problems of a config, in words for the person who wrote it.
 *
 * CONFIG-PROBLEMS-1. Each names the field, what is expected there and an example.
 * CONFIG-PROBLEMS-2. No value of the file is ever repeated, nor a name that might be one: a key may be anywhere by
 *     mistake.
 */
export function configProblemWords(issue: z.core.$ZodIssue, value: unknown): string {
  const field = issue.path.length === 0 ? "" : `${fieldWords(issue.path)}: `;
  if (issue.code === "unrecognized_keys") return `${field}${unknownFieldWords(issue.keys, issue.path)}`;
  const inner = issue.code === "invalid_union" ? innerIssue(issue, valueAt(value, issue.path)) : undefined;
  if (inner) return configProblemWords(inner, value);
  const found = foundWords(valueAt(value, issue.path));
  return `${field}expected ${expectedWords(issue)}${exampleWords(issue.path)}; ${found}.${hintFor(issue, value)}`;
}

/** An example of every field. */
export const EXAMPLE: Config = {
  model: "anthropic/claude-sonnet-4-5",
  worker_model: "openai-compatible/local/qwen3",
  budget_usd: 5,
  budget_tokens: 2_000_000,
  cycle_seconds: 3600,
  time_zone: "Europe/Berlin",
  approve_stages: true,
  max_concurrent: 4,
  max_turns: 200,
  max_stages: 20,
  max_depth: 3,
  max_children: 10,
  contract: { max_iterations_per_node: 50, timeout_seconds: 1800, checkpoint_policy: "majority" },
  providers: {
    local: {
      base_url: "http://127.0.0.1:8000/v1",
      api_key_env: "LOCAL_KEY",
      native_tools: false,
      temperature: 0.7,
      max_output_tokens: 4096,
      reasoning_effort: "low",
      context_window: 32_000,
      prices: { input: 1, output: 5, cache_read: 0.1, cache_write: 1.25 },
    },
  },
  models: {
    "openrouter/some/model": {
      native_tools: false,
      temperature: 0.7,
      max_output_tokens: 4096,
      reasoning_effort: "low",
      context_window: 128_000,
      prices: { input: 1, output: 5 },
    },
  },
  network: { allow: ["api.example.org"] },
  web_fetch: { allow: ["wiki.local:8080"] },
  memory: { embeddings: "openai/text-embedding-3-small", shared: true },
  channels: {
    pager: {
      type: "webhook",
      url: "https://example.org/hook",
      secret_env: "PAGER_SECRET",
      preset: "plain",
      to: ["questions"],
      listen: { port: 4748 },
    },
  },
  server: {
    host: "127.0.0.1",
    port: 4747,
    names: ["agents.example.org"],
    tls: { cert: "cert.pem", key: "key.pem" },
    proxy: { origin: "https://agents.example.org", address: "10.0.0.1" },
  },
  programs: {
    linter: {
      kind: "autonomous",
      command: ["/opt/tools/lint-and-report", "{task}"],
      env: ["LINTER_TOKEN"],
      terminal: ["lint-shell"],
      set: { LEVEL: "strict" },
      share: [".config/linter/login.json"],
      own_settings: true,
      hosts: ["api.example.org"],
      permissions: "ask",
      allow: ["Bash(npm test:*)"],
      silence_seconds: 600,
      rest_seconds: 3600,
      quirks: "claude",
      about: "Checks style.",
    },
  },
  mcp_servers: {
    files: {
      command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/me/papers"],
      env: ["FILES_TOKEN"],
      set: { LEVEL: "quiet" },
      cwd: "/home/me",
      workers: ["Alice"],
      tools: ["search"],
      timeout_seconds: 60,
    },
    tickets: { url: "https://mcp.example.org/mcp", headers_env: { authorization: "TICKETS_AUTH" } },
  },
  projects: {
    "/home/me/shop": {
      write: true,
      setup: { command: "npm ci", inputs: ["package-lock.json"], outputs: ["node_modules"], timeout_seconds: 900 },
      checks: ["npm test"],
      hosts: ["registry.example.org"],
      limits: {
        commit_mb: 2048,
        file_mb: 512,
        files: 200_000,
        checkout_mb: 4096,
        include_mb: 256,
        include_files: 2000,
        check_seconds: 900,
      },
    },
  },
  engine: "postgres://agiraph@db.example.org/agiraph",
  extensions: ["/home/me/tools/weather.ts"],
  sandbox: { unsafe: false },
};

type Path = readonly PropertyKey[];

/** As it is written in the file; something that does not look like a name is not repeated (CONFIG-PROBLEMS-2). */
export function fieldWords(path: Path): string {
  return path.map((key) => (typeof key === "number" ? String(key) : named(String(key)))).join(".");
}

function named(name: string): string {
  const isName = name.length <= 40 && /^[A-Za-z0-9_/][\w./:-]*$/.test(name) && !looksLikeKey(name);
  return isName ? name : "(a name that is not repeated here)";
}

/** Long pieces in which letters and digits are mixed, and a key's usual beginnings. */
function looksLikeKey(name: string): boolean {
  const isMixed = (piece: string) => piece.length >= 12 && /\d/.test(piece) && /[A-Za-z]/.test(piece);
  return /^(sk|pk|rk|gsk|xai|tvly|ghp|hf)[-_]/.test(name) || name.split(/[^A-Za-z0-9]/).some(isMixed);
}

function unknownFieldWords(keys: readonly string[], path: Path): string {
  const known = [...new Set(examplesAt(path).flatMap((there) => (there instanceof Object ? Object.keys(there) : [])))];
  const [first = ""] = keys;
  const variable = `${first}_env`;
  const near = known.includes(variable) ? variable : nearest(first, known, 1)[0];
  const isVariable = near?.endsWith("_env") ? " It names a variable of your environment, which holds the value." : "";
  const meant = near === undefined ? "" : ` Did you mean ${near}?${isVariable}`;
  return `there is no field ${keys.map(named).join(", ")}.${meant} Choose from: ${known.join(", ")}.`;
}

function foundWords(value: unknown): string {
  if (value === undefined) return "it is missing";
  if (value === null) return "there is null";
  if (Array.isArray(value)) return "there is a list";
  const kinds: Readonly<Record<string, string>> = { string: "text", number: "a number", boolean: "true or false" };
  return `there is ${kinds[typeof value] ?? "an object"}`;
}

function exampleWords(path: Path): string {
  const last = path.at(-1);
  const [example] = examplesAt(path);
  if (last === undefined) return `, e.g. ${JSON.stringify({ model: EXAMPLE.model })}`;
  // A secret is better kept out of the file: the example is the field that names its variable.
  if (example === undefined) {
    const variable = `${String(last)}_env`;
    return examplesAt([...path.slice(0, -1), variable]).length > 0
      ? exampleWords([...path.slice(0, -1), variable])
      : "";
  }
  const written = JSON.stringify(example);
  return typeof last === "number" ? `, e.g. ${written}` : `, e.g. "${named(String(last))}": ${written}`;
}

/** What the example has there. Where people choose the names, any of the example's will do. */
function examplesAt(path: Path, at: unknown = EXAMPLE, isNamedFreely = false): unknown[] {
  const [key, ...rest] = path;
  if (key === undefined) return [at];
  if (!(at instanceof Object)) return [];
  const there = Object.hasOwn(at, key) ? [Reflect.get(at, key)] : [];
  const found = isNamedFreely || Array.isArray(at) ? [...there, ...Object.values(at)] : there;
  return found.flatMap((each) => examplesAt(rest, each, NAMED_FREELY.has(key)));
}

/** Fields whose own fields people name. */
const NAMED_FREELY: ReadonlySet<PropertyKey> = new Set([
  ...["providers", "models", "channels", "programs", "mcp_servers", "projects"],
  ...["set", "headers_env"],
]);

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (at instanceof Object && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    value,
  );
}

/** Of several ways to write something, the one that was begun; undefined where none was. */
function innerIssue(issue: z.core.$ZodIssueInvalidUnion, value: unknown): z.core.$ZodIssue | undefined {
  const begun = issue.errors.filter(([first]) => first?.code !== "invalid_type" || first.path.length > 0);
  const [first] = (value instanceof Object && "url" in value ? begun.at(-1) : begun[0]) ?? [];
  return first && { ...first, path: [...issue.path, ...first.path] };
}

/** `env` names variables, `set` gives them values: who mixes them up is told. */
function hintFor({ path }: z.core.$ZodIssue, value: unknown): string {
  const at = path.lastIndexOf("env");
  if (at < 0 || at < path.length - 2) return "";
  const given = valueAt(value, path.slice(0, at + 1));
  const isMixed = typeof given === "object" && given !== null;
  return isMixed ? " It names variables of your environment; variables with their values go into set." : "";
}
