import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { z } from "zod";

type Parsed = { ok: true; args: unknown } | { ok: false; problem: string };

const argumentsSchema = z.record(z.string(), z.unknown());

/**
 * Checks arguments against a server's schema before they are sent. The check is compiled with the first call; if that
 * fails, only the server checks.
 */
export function argumentCheck(schema: Record<string, unknown>): (args: unknown) => Parsed {
  let check: ((args: unknown) => Parsed) | undefined;
  return (args) => {
    const parsed = argumentsSchema.safeParse(args);
    if (!parsed.success) return { ok: false, problem: z.prettifyError(parsed.error) };
    check ??= compiled(schema);
    return check(parsed.data);
  };
}

function compiled(schema: Record<string, unknown>): (args: unknown) => Parsed {
  const size = unfoldedSize(schema);
  if (size > MOST_NODES) return unchecked;
  try {
    // One for each: it would take two schemas with the same $id for one.
    const validate = new AjvJsonSchemaValidator().getValidator(harmless(schema) as Record<string, unknown>);
    return (args) => {
      if (size * countNodes(args, MOST_STEPS) > MOST_STEPS) return unchecked(args);
      try {
        const result = validate(args);
        return result.valid ? { ok: true, args } : { ok: false, problem: result.errorMessage };
      } catch {
        return unchecked(args); // nested too deep to be checked here
      }
    };
  } catch {
    return unchecked;
  }
}

function unchecked(args: unknown): Parsed {
  return { ok: true, args };
}

/** A check is made of the schema's parts, and runs each of them for each part of the arguments, in our one thread. */
const MOST_NODES = 400;
const MOST_STEPS = 1_000_000;

/**
 * How many parts a schema has with its references put in: forty definitions that each name the next one twice are a few
 * lines, and a check of 2⁴⁰ steps. One that contains itself has no end, and counts as too large.
 */
function unfoldedSize(schema: unknown): number {
  let size = 0;
  const waiting: unknown[] = [schema];
  while (waiting.length > 0) {
    const part = waiting.pop();
    if (++size > MOST_NODES) return size;
    if (typeof part !== "object" || part === null) continue;
    for (const [key, value] of Object.entries(part)) {
      if (REFERENCES.has(key)) waiting.push(targetOf(schema, value));
      // What is only named here counts where it is used.
      else if (!DEFINITIONS.has(key)) waiting.push(value);
    }
  }
  return size;
}

const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);
const DEFINITIONS = new Set(["$defs", "definitions"]);

/** What a reference within the schema names. For any other the whole stands in: it is not looked up. */
function targetOf(schema: unknown, reference: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return schema;
  let at = schema;
  for (const step of reference.slice(2).split("/")) {
    const name = decoded(step);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return schema;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

/** Counts no further than needed. */
function countNodes(value: unknown, most: number): number {
  let count = 0;
  const waiting = [value];
  while (waiting.length > 0 && count <= most) {
    const part = waiting.pop();
    count += 1;
    if (typeof part === "object" && part !== null) for (const inner of Object.values(part)) waiting.push(inner);
  }
  return count;
}

/** Where names stand that somebody chose: `pattern` there is a name like any other. */
const NAMED = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Values, not schemas. */
const VALUES = new Set(["const", "enum", "default", "examples"]);
/** Regular expressions of others can take for ever, and every item is compared with every other. */
const SLOW = ["pattern", "patternProperties", "format", "uniqueItems"];
/** What would refuse more when something inside it refuses less. */
const CONTRARY = ["not", "if", "then", "else", "maxContains", "unevaluatedProperties", "unevaluatedItems"];
const LEFT_OUT = new Set([...SLOW, ...CONTRARY]);

/** A schema that allows no less: what is left out the server checks itself. */
function harmless(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(harmless);
  if (typeof schema !== "object" || schema === null) return schema;
  const hasPatterns = "patternProperties" in schema;
  const kept = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    // Without the patterns it would refuse what they allow.
    if (LEFT_OUT.has(key) || (hasPatterns && key === "additionalProperties")) return [];
    if (VALUES.has(key)) return [[key, value]];
    if (NAMED.has(key) && typeof value === "object" && value !== null)
      return [[key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, harmless(inner)]))]];
    if (key === "oneOf" && !("anyOf" in schema)) return [["anyOf", harmless(value)]];
    return key === "oneOf" ? [] : [[key, harmless(value)]];
  });
  return Object.fromEntries(kept);
}
