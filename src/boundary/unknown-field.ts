import { z } from "zod";
import { didYouMean } from "./nearest.ts";
import { innermost, issueWords } from "./schema-words.ts";

/** `there is no field "titel". Did you mean "title"? Choose from: name, title`, for the sender. */
export function unknownField(name: string, schema: unknown, path: readonly PropertyKey[]): string {
  const known = fieldsAt(schema, path);
  const list = known.length > 0 ? ` Choose from: ${known.join(", ")}` : " There are none";
  return `there is no field "${name.slice(0, 60)}".${didYouMean(name, known)}${list}`;
}

/** The problems of an input, one per line. An unknown name is shown with the nearest known one. */
export function problemsIn(error: z.ZodError, schema: unknown): string {
  return innermost(error.issues)
    .map((issue) => {
      if (issue.code === "unrecognized_keys")
        return issue.keys.map((key) => unknownField(key, schema, issue.path)).join("; ");
      const field = issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
      return `${field}${issueWords(issue)}`;
    })
    .join("\n");
}

/** The field names that the schema allows at the end of a path. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  let at = bare(schema);
  for (const key of path) {
    if (at instanceof z.ZodArray) at = bare(at.element);
    else at = bare(objectsIn(at).find(({ shape }) => String(key) in shape)?.shape[String(key)]);
  }
  return [...new Set(objectsIn(at).flatMap(({ shape }) => Object.keys(shape)))];
}

/** Several where it is one of some. */
function objectsIn(schema: unknown): z.ZodObject[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => objectsIn(bare(option)));
  return schema instanceof z.ZodObject ? [schema] : [];
}

function bare(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapped ? bare(schema.unwrap()) : schema;
}
