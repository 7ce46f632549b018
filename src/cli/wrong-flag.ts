import { UsageError } from "./exit-code.ts";

/** An error in the value of a flag is a usage error; other errors must be fixed elsewhere. */
export function asUsageError(error: unknown): never {
  for (const { field, problem } of wrongFields(error)) {
    const flag = FLAGS[field];
    if (flag !== undefined && (field === "tools" || isUnknownModel(error))) throw new UsageError(`${flag}: ${problem}`);
  }
  throw error;
}

const FLAGS: Readonly<Record<string, string>> = {
  tools: "--tools",
  model: "--model",
  worker_model: "--worker-model",
};

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
