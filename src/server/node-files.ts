import { z } from "zod";
import type { NodeState } from "../projections/index.ts";
import { eventSchema } from "../protocol/api/events.ts";
import type { ListedFile, Scope } from "../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";

const MOST_SPEC_BYTES = 256 * 1024;
const MOST_LOG_BYTES = 8 * 1024 * 1024;
const MOST_FILES = 1000;

/** The files in a node's folder. A folder that does not exist yet, or any more, is empty. */
export async function nodeFiles(scope: Scope, { id, spec }: NodeState, page: { after: number; limit: number }) {
  const folder = `runs/${spec.run_id}/nodes/${id}`;
  const log = eventsIn(await textIn(scope, `${folder}/log.jsonl`, MOST_LOG_BYTES));
  const rest = log.filter(({ seq }) => seq > page.after);
  const events = rest.slice(0, page.limit);
  return {
    folder,
    spec: await textIn(scope, `${folder}/_spec.md`, MOST_SPEC_BYTES),
    scratch: await listed(scope, `${folder}/scratch`),
    published: await checked(scope, await listed(scope, `${folder}/published`)),
    log: { events, next_after: rest.length > page.limit ? (events.at(-1)?.seq ?? null) : null },
    createdSeq: log.find(({ type }) => type === "node.created")?.seq ?? null,
  };
}

async function textIn(scope: Scope, path: string, maxBytes: number): Promise<string | null> {
  try {
    return (await scope.readFile(path, { maxBytes })).bytes.toString("utf8");
  } catch (error) {
    if (error instanceof FileNotFound) return null;
    throw error;
  }
}

/** A line that is not whole, or damaged, is passed over: the file is made from the log and made again. */
function eventsIn(text: string | null): z.infer<typeof eventSchema>[] {
  return (text ?? "").split("\n").flatMap((line) => {
    const event = lineSchema.safeParse(line);
    return event.success ? [event.data] : [];
  });
}

const lineSchema = z
  .string()
  .transform((line, context) => {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      context.addIssue("not JSON");
      return z.NEVER;
    }
  })
  .pipe(eventSchema);

/** Those that are not what was published are marked. */
async function checked(scope: Scope, entries: ListedFile[]): Promise<(ListedFile & { changed?: true })[]> {
  const marked: (ListedFile & { changed?: true })[] = [];
  for (const entry of entries)
    marked.push(entry.kind === "file" && (await isChanged(scope, entry.path)) ? { ...entry, changed: true } : entry);
  return marked;
}

async function isChanged(scope: Scope, path: string): Promise<boolean> {
  try {
    (await scope.openChecked(path)).close();
    return false;
  } catch (error) {
    if (error instanceof ScopeRefusal) return error.reason === "changed";
    if (error instanceof FileNotFound) return false;
    throw error;
  }
}

async function listed(scope: Scope, path: string) {
  try {
    return (await scope.list(path, { recursive: true, limit: MOST_FILES })).entries;
  } catch (error) {
    if (error instanceof FileNotFound) return [];
    throw error;
  }
}
