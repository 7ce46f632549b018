/** The surveyor's next step: some text, and the calls to make with it. */
export interface Move {
  words: string;
  calls: readonly PlannedCall[];
}

export interface PlannedCall {
  name: string;
  args: Record<string, unknown>;
}

export function act(words: string, ...calls: PlannedCall[]): Move {
  return { words, calls };
}

export function listFiles(path: string, recursive = true): PlannedCall {
  return { name: "list_files", args: { path, recursive } };
}

export function readFile(path: string, range: { offset?: number; limit?: number } = {}): PlannedCall {
  return { name: "read_file", args: { path, ...range } };
}

export const HOW_TO_GET_A_MODEL =
  "For a real model set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local one) and start again.";
