import { z } from "zod";
import { didYouMean } from "./nearest.ts";

/** `there is no field "titel". Did you mean "title"? There are: name, title`: for somebody who sent it. */
export function unknownField(name: string, schema: unknown, path: readonly PropertyKey[]): string {
  const known = fieldsAt(schema, path);
  const list = known.length > 0 ? ` There are: ${known.join(", ")}` : " There are none";
  return `there is no field "${name.slice(0, 60)}".${didYouMean(name, known)}${list}`;
}

/** The names that an object of this schema may have, at the end of a path. */
export function fieldsAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  let at = bare(schema);
  for (const key of path) {
    if (at instanceof z.ZodArray) at = bare(at.element);
    else at = at instanceof z.ZodObject ? bare(at.shape[String(key)]) : undefined;
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function bare(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapped ? bare(schema.unwrap()) : schema;
}
