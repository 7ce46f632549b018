/** What the surveyor does next: some words, and calls to make with them. */
export interface Move {
  words: string;
  calls: readonly PlannedCall[];
}

export interface PlannedCall {
  name: string;
  args: Record<string, unknown>;
}

export function say(words: string): Move {
  return { words, calls: [] };
}

export function act(words: string, ...calls: PlannedCall[]): Move {
  return { words, calls };
}

export function listFiles(path: string, recursive: boolean): PlannedCall {
  return { name: "list_files", args: { path, recursive } };
}

export function readFile(path: string, range: { offset?: number; limit?: number } = {}): PlannedCall {
  return { name: "read_file", args: { path, ...range } };
}
