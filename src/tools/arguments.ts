import { didYouMean } from "../boundary/nearest.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * What a model sent, read by its tool's JSON Schema before the tool's own check.
 *
 * ARGUMENTS-1. A name that the schema does not have is a problem, at any depth: it is never dropped in silence.
 * ARGUMENTS-2. What can mean only one thing is taken as that: null where null is not allowed is "left out", and JSON,
 *              a number or a boolean inside a string is itself where no string is allowed. Models send all of these.
 */
export function readArguments(tool: string, sent: unknown, schema: Schema): { args: unknown; problems: string[] } {
  const problems: string[] = [];

  function read(value: unknown, schema: Schema, at: string): unknown {
    const forms = formsOf(schema);
    const given = typeof value === "string" ? unwrapped(value, forms) : value;
    if (Array.isArray(given)) {
      const items = forms.find(({ type }) => type === "array")?.items;
      return isSchema(items) ? given.map((each, index) => read(each, items, `${at}[${index}]`)) : given;
    }
    return given instanceof Object ? readFields(given, forms, at) : given;
  }

  function readFields(given: object, forms: readonly Schema[], at: string): unknown {
    const objects = forms.filter(({ type }) => type === "object");
    if (objects.length === 0 || objects.some(({ additionalProperties: more }) => more)) return given;
    const fieldOf = (name: string) => {
      let field: unknown;
      for (const { properties } of objects) if (has(properties, name)) field = properties[name];
      return field;
    };
    const kept: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(given)) {
      const field = fieldOf(name);
      if (field === undefined) problems.push(unknownArgument(tool, name, namesIn(objects), at));
      if (!isSchema(field) || (value === null && !takesNull(field))) continue;
      kept[name] = read(value, field, at === "" ? name : `${at}.${name}`);
    }
    return kept;
  }

  return { args: read(sent ?? {}, schema, ""), problems };
}

function unknownArgument(tool: string, name: string, known: readonly string[], at: string): string {
  const where = at === "" ? "" : ` in ${at}`;
  const takes = known.length === 0 ? "takes no arguments" : `takes: ${known.join(", ")}`;
  const shown = name.length > 60 ? `${name.slice(0, 59)}…` : name;
  return `There is no argument "${shown}"${where}.${didYouMean(name, known)} ${at === "" ? tool : at} ${takes}.`;
}

function has(properties: unknown, name: string): properties is Schema {
  return isSchema(properties) && Object.hasOwn(properties, name);
}

function namesIn(objects: readonly Schema[]): string[] {
  return [...new Set(objects.flatMap(({ properties }) => Object.keys(properties ?? {})))];
}

/** The forms that a value may have, each of one type: several where the schema is a union. */
function formsOf(schema: Schema): Schema[] {
  const several = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(several)) return several.filter(isSchema).flatMap(formsOf);
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [schema];
}

function isSchema(value: unknown): value is Schema {
  return value instanceof Object && !Array.isArray(value);
}

function takesNull(schema: Schema): boolean {
  return formsOf(schema).some(({ type, const: only }) => type === undefined || type === "null" || only === null);
}

/** The value inside a string, where no string can be meant. */
function unwrapped(text: string, forms: readonly Schema[]): unknown {
  const types = forms.map(({ type }) => type);
  if (types.some((type) => type === undefined || type === "string")) return text;
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && types.some((type) => isOf(value, type)) ? value : text;
  } catch {
    return text;
  }
}

function isOf(value: unknown, type: unknown): boolean {
  if (Array.isArray(value)) return type === "array";
  return type === typeof value || (type === "integer" && Number.isInteger(value));
}
