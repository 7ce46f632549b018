import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { z } from "zod";

type Parsed = { ok: true; args: unknown } | { ok: false; problem: string };

const argumentsSchema = z.record(z.string(), z.unknown());

/**
 * Checks arguments by the schema of a server before they are sent. It is made with the first call, and where it cannot be
 * made the server judges alone.
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
  try {
    // One for each: it would take two schemas with the same $id for one.
    const validate = new AjvJsonSchemaValidator().getValidator(harmless(schema) as Record<string, unknown>);
    return (args) => {
      const result = validate(args);
      return result.valid ? { ok: true, args } : { ok: false, problem: result.errorMessage };
    };
  } catch {
    return (args) => ({ ok: true, args });
  }
}

/** Where names stand that somebody chose: `pattern` there is a name like any other. */
const NAMED = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Values, not schemas. */
const VALUES = new Set(["const", "enum", "default", "examples"]);
/** Regular expressions of others can take for ever. */
const SLOW = ["pattern", "patternProperties", "format"];
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
