import { UsageError } from "./exit-code.ts";

type Field = "tools" | "model" | "worker_model";

/** Where each value came from, as a person would look for it. */
export type ValueSources = Readonly<Partial<Record<Field, string>>>;

/** `otherwise`: where a model's name came from if no flag has it. Without one, the problem itself says it. */
export function sourcesOf(flags: { model?: string; workerModel?: string }, otherwise: ValueSources = {}): ValueSources {
  return {
    ...otherwise,
    tools: "--tools",
    ...(flags.model && { model: "--model" }),
    ...(flags.workerModel && { worker_model: "--worker-model" }),
  };
}

/** An error in the value of a flag, or in a model's name, is a usage error; other errors must be fixed elsewhere. */
export function asUsageError(sources: ValueSources): (error: unknown) => never {
  return (error) => {
    for (const { field, problem } of wrongFields(error)) {
      const flag = WRITE_FLAGS[field];
      if (flag !== undefined) throw new UsageError(`${flag}: ${problem}`);
      if (field !== "tools" && !(isModelField(field) && isUnknownModel(error))) continue;
      const source = sources[field];
      throw new UsageError(source === undefined ? problem : `${source}: ${problem}`);
    }
    throw error;
  };
}

/** Of `write` in an order; that the folder cannot be worked on is an error of its own. */
const WRITE_FLAGS: Readonly<Record<string, string>> = { "write.base": "--base", "write.dirty": "--dirty" };

function isModelField(field: string): field is "model" | "worker_model" {
  return field === "model" || field === "worker_model";
}

/** Here it is one field; from another process they come with its refusal. */
function wrongFields(error: unknown): readonly { field: string; problem: string }[] {
  if (!(error instanceof Error)) return [];
  if (error.name === "WrongField" && "field" in error) return [{ field: String(error.field), problem: error.message }];
  return "details" in error && Array.isArray(error.details) ? error.details : [];
}

/** No such name, in contrast to one that lacks a key. */
function isUnknownModel(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "unknown_model";
}
