import type { AgentDetail } from "../../../src/protocol/api/agents.ts";
import { agentDetail, filesOfRun } from "./api.ts";
import { useLoaded } from "./use-live.ts";

/** A file that is the result of a run, or a part of it. */
export interface RunResult {
  /** In the workspace. */
  at: string;
  /** Unknown where only the record names it. */
  bytes: number | null;
  /** It is not there any more as it was. */
  isChanged: boolean;
}

const NONE: readonly RunResult[] = [];
const known = new Map<string, readonly RunResult[]>();

/**
 * The results of a run that ended with the fact `seq`. `named` are those in the record; if none was named, the server
 * is asked. Results are cached: a card that becomes visible again has its height at once, and the server knows only
 * those of the last run.
 */
export function useResultsOf(agent: string, run: string, named: readonly string[], seq: number): readonly RunResult[] {
  const key = `${agent} ${run} ${seq}`;
  const loaded = useLoaded(key, async () => {
    const last = await agentDetail(agent);
    const found = last.run_id === run ? fromServer(last) : (known.get(key) ?? (await earlier(agent, run, named)));
    known.set(key, found);
    return found;
  });
  return loaded.state === "ready" ? loaded.value : (known.get(key) ?? fromRecord(run, named));
}

/** Those of the current run. */
export function useResultsSoFar(agent: string, run: string, tick: string): readonly RunResult[] {
  const loaded = useLoaded(`${agent} ${run}`, () => agentDetail(agent), tick);
  return loaded.state === "ready" && loaded.value.run_id === run ? fromServer(loaded.value) : NONE;
}

async function earlier(agent: string, run: string, named: readonly string[]): Promise<readonly RunResult[]> {
  if (named.length > 0) return fromRecord(run, named);
  return (await filesOfRun(agent, run)).map(({ path, bytes }) => ({ at: path, bytes, isChanged: false }));
}

function fromServer({ results }: AgentDetail): RunResult[] {
  return results.map(({ path, bytes, changed }) => ({ at: path, bytes, isChanged: changed }));
}

function fromRecord(run: string, named: readonly string[]): RunResult[] {
  return named.map((path) => ({ at: `runs/${run}/${path}`, bytes: null, isChanged: false }));
}
