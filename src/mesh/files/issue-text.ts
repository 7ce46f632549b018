import type { z } from "zod";
import { nearest } from "../../boundary/nearest.ts";
import { unknownField } from "../../boundary/unknown-field.ts";

/** A validation error in words: which field, what it should be, what it is. */
export function fieldIssueWords({ issues: [issue] }: z.ZodError, value: unknown, schema: z.ZodType): string {
  if (!issue) return "it is not valid";
  const field = issue.path.length > 0 ? `"${issue.path.join(".")}": ` : "";
  if (issue.code === "unrecognized_keys") return `${field}${unknownField(issue.keys[0] ?? "", schema, issue.path)}`;
  const given = issue.path.reduce<unknown>(
    (at, key) => (at instanceof Object ? Reflect.get(at, key) : undefined),
    value,
  );
  if (given === undefined && issue.path.length > 0)
    return `${field}it is missing${issue.code === "invalid_value" ? `; one of ${issue.values.join(", ")} is needed` : ""}`;
  return `${field}${wrongWords(issue, given)}`;
}

function wrongWords(issue: z.core.$ZodIssue, given: unknown): string {
  const said = typeof given === "string" ? given : JSON.stringify(given);
  switch (issue.code) {
    case "invalid_value": {
      const names = issue.values.map(String);
      const [near] = nearest(String(given), names, 1);
      return `there is no ${shortened(said)}.${near ? ` Did you mean ${near}?` : ""} Choose from: ${names.join(", ")}`;
    }
    case "too_small":
      return given instanceof Object || given === "" ? "it is empty" : `it is too small; at least ${issue.minimum}`;
    case "too_big": {
      const of = issue.origin === "string" ? " characters" : "";
      return `it is too long; at most ${issue.maximum}${of} are allowed`;
    }
    case "invalid_type":
      return `expected ${TYPES[issue.expected] ?? issue.expected}, and it is ${shortened(said)}`;
    case "invalid_format":
      return issue.format === "datetime"
        ? `expected a time such as 2026-11-16T09:00:00Z, and it is ${shortened(said)}`
        : issue.message;
    default:
      return issue.code === "invalid_union" ? `${shortened(said)} has none of the allowed forms` : issue.message;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "fields in braces",
};

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
