export interface DiffHunk {
  old_start: number;
  old_lines: number;
  new_start: number;
  new_lines: number;
  header: string;
  /** Each begins with " ", "+", "-" or "\". */
  lines: string[];
}

export interface DiffFile {
  path: string;
  old_path?: string;
  status: "added" | "deleted" | "modified" | "renamed" | "copied" | "type_changed";
  binary: boolean;
  insertions: number;
  deletions: number;
  /** Of a binary file: its size after the change, or before it where it was deleted. */
  bytes?: number;
  hunks: DiffHunk[];
  /** Lines of it were left out. */
  cut?: true;
}

export interface RepositoryDiff {
  from: string;
  to: string;
  files: DiffFile[];
  files_total: number;
  insertions: number;
  deletions: number;
  /** There are more files than are listed. */
  more: boolean;
}
