import { z } from "zod";
import type { ToolSpec } from "../models/model.ts";
import type { CallPart, Outcome, Picture } from "../protocol/index.ts";
import { readArguments } from "./arguments.ts";

/** What a tool returns to the model. A plain string is a success. */
export type ToolOutput = string | { content: string; ok?: boolean; ending?: Outcome; picture?: Picture };

/** The call changed nothing; the words say why, and what the model can do about it. */
export function refusal(content: string): ToolOutput {
  return { ok: false, content };
}

/**
 * A tool is bound to its ports when it is made (`fileTools(scope)`, `shellTool(sandbox)`), so running one needs only
 * the arguments and the signal. What the model can fix is an output with `ok: false`; what nobody can fix is thrown,
 * and the toolbox turns even that into a result.
 */
export interface Tool {
  readonly spec: ToolSpec;
  /** May a call be run again after a crash? True for what only looks, or ends the same however often it is done. */
  readonly repeatable: boolean;
  parse(args: unknown): { ok: true; args: unknown } | { ok: false; problem: string };
  /** `call` tells a call that is recovered after a crash from a new one. */
  run(args: unknown, signal: AbortSignal, call?: CallPart): Promise<ToolOutput>;
  /** Honoured when it is called, and not offered: another tool does the same, or there is nothing to do for it here. */
  readonly hidden?: boolean | "unless hired with it";
  /** How long a call of a tool that was added may take; 120 s if left out. Built-in tools keep limits of their own. */
  readonly timeoutSeconds?: number;
  /**
   * Ends what its calls have left running. Called when the work of its owner ends; a tool that was added (`openRuntime`,
   * an extension) is everyone's, and closed once, with the runtime.
   */
  close?(): Promise<void>;
}

/** Offered to those who may have it, where a person or an order names it. */
export function hidden(tool: Tool): Tool {
  return { ...tool, hidden: true };
}

/** Of no use here: that the agent's list of tools names it is meant for others, unless a worker was hired with it. */
export function setAside(tool: Tool): Tool {
  return { ...tool, hidden: "unless hired with it" };
}

export async function closeTools(tools: readonly Tool[]): Promise<void> {
  await Promise.all(tools.map((tool) => tool.close?.()));
}

export function defineTool<S extends z.ZodType>(definition: {
  name: string;
  /** All that a model is told of it, but for its arguments: what it does, when to use it, what trips people up. */
  description: string;
  repeatable: boolean;
  readOnly?: true | ((args: z.infer<S>) => boolean);
  parameters: S;
  run(args: z.infer<S>, signal: AbortSignal, call?: CallPart): Promise<ToolOutput>;
  timeoutSeconds?: number;
  close?(): Promise<void>;
}): Tool {
  const { name, description, repeatable, readOnly, parameters } = definition;
  refuseUntyped(definition);
  const schema = jsonSchemaOf(parameters);
  if (schema.type !== "object")
    throw new Error(
      `The tool "${name}": \`parameters\` must be z.object({ … }), since models send arguments by name; this one is ${schema.type ? `of type ${schema.type}` : "not an object"}.`,
    );
  const looks = (args: unknown) => {
    const parsed = parameters.safeParse(args);
    return parsed.success && typeof readOnly === "function" && readOnly(parsed.data);
  };
  const isLook = readOnly && { readOnly: readOnly === true ? readOnly : looks };
  return {
    spec: { name, description, parameters: shortSchemaOf(parameters), ...isLook },
    repeatable,
    parse(sent) {
      const { args, problems } = readArguments(name, sent, schema);
      const parsed = parameters.safeParse(args);
      if (parsed.success && problems.length === 0) return { ok: true, args: parsed.data };
      const others = parsed.success ? [] : [z.prettifyError(parsed.error)];
      return { ok: false, problem: [...problems, ...others].join("\n") };
    },
    run: (args, signal, call) => definition.run(args as z.infer<S>, signal, call),
    ...(definition.timeoutSeconds !== undefined && { timeoutSeconds: definition.timeoutSeconds }),
    ...(definition.close && { close: () => definition.close?.() ?? Promise.resolve() }),
  };
}

/** Written without types, a definition may lack what everything after this needs. */
function refuseUntyped({ name, parameters, run }: { name: string; parameters: unknown; run: unknown }): void {
  const isSchema = parameters instanceof Object && "_zod" in parameters;
  if (!isSchema)
    throw new Error(`The tool "${name}": \`parameters\` must be a schema, e.g. z.object({ text: z.string() }).`);
  if (typeof run !== "function") throw new Error(`The tool "${name}": \`run\` must be a function.`);
}

/** Whether a call of one of these changes nothing. */
export function onlyLooks({ name, args }: CallPart, specs: readonly ToolSpec[]): boolean {
  const readOnly = specs.find((spec) => spec.name === name)?.readOnly;
  return typeof readOnly === "function" ? readOnly(args) : readOnly === true;
}

/** That names are strings goes without saying in JSON, and OpenAI warns at every call that it does not take it. */
function withoutNames({ jsonSchema }: { jsonSchema: { propertyNames?: unknown } }): void {
  delete jsonSchema.propertyNames;
}

const schemas = new WeakMap<z.ZodType, Record<string, unknown>>();

/** Making a JSON Schema costs more than a model turn of ours; each is made once. */
function jsonSchemaOf(type: z.ZodType): Record<string, unknown> {
  let schema = schemas.get(type);
  if (!schema) {
    const { $schema: _, ...rest } = z.toJSONSchema(type, { io: "input", override: withoutNames });
    schema = rest;
    schemas.set(type, schema);
  }
  return schema;
}

const shortSchemas = new WeakMap<z.ZodType, Record<string, unknown>>();

/**
 * What a model is sent of it: names, types and words. Limits and defaults are left out: they would be read in every
 * request, and a call that breaks one is told so. `short` in the metadata of a part stands for all that is in it.
 */
function shortSchemaOf(type: z.ZodType): Record<string, unknown> {
  let schema = shortSchemas.get(type);
  if (!schema) {
    schema = shortened(jsonSchemaOf(type)) as Record<string, unknown>;
    shortSchemas.set(type, schema);
  }
  return schema;
}

const UNSAID: ReadonlySet<string> = new Set([
  ...["default", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
]);

function shortened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(shortened);
  if (!(schema instanceof Object)) return schema;
  if ("short" in schema) return { ...("type" in schema && { type: schema.type }), description: schema.short };
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !UNSAID.has(key) && !(key === "additionalProperties" && isEmpty(value)))
      .map(([key, value]) => [
        key,
        key === "properties" ? namesKept(value) : key === "enum" ? value : shortened(value),
      ]),
  );
}

/** A property may be called `default`. */
function namesKept(properties: unknown): unknown {
  return Object.fromEntries(Object.entries(properties ?? {}).map(([name, value]) => [name, shortened(value)]));
}

function isEmpty(value: unknown): boolean {
  return value instanceof Object && Object.keys(value).length === 0;
}
