import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { refusal, type ToolOutput } from "./tool.ts";

/** Turns a scope's refusal into a result that says what to do instead; any other error is thrown on. */
export async function refusalsAsResults(run: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound) return refusal(error.message);
    throw error;
  }
}

/** The same for a tool that does nothing but work on files: only a stop (the signal) is thrown on. */
export async function fileErrorsAsResults(signal: AbortSignal, run: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await refusalsAsResults(run);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // A full disk or a bad sector: nothing the model did, yet it should know that the call did not do its work.
    return refusal(`The file could not be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}
