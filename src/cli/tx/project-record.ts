import type { Layout } from "../../mesh/files/layout.ts";
import type { Situation } from "../../projections/index.ts";
import type { AgentId, Fact } from "../../protocol/index.ts";
import { lookAtAll } from "../../runtime/views/agent-list.ts";
import type { AgentLog } from "../../store/store.ts";
import { Refusal } from "../exit-code.ts";
import { lookAt, noHomeYet } from "../home/look.ts";
import type { TxCall } from "./project.ts";

/** The recorded history of a project's meshes on disk, readable with or without a server. */
export interface ProjectRecord {
  id: AgentId;
  log: AgentLog;
  situation(): Promise<Situation>;
}

export async function projectRecordOf(call: TxCall, layout: Layout): Promise<ProjectRecord> {
  const look = await lookAt(call).catch(noHomeYet);
  const { agents } = look ? await lookAtAll(look.store, 0) : { agents: [] };
  const found = agents.find(({ summary }) => summary.meshes_of === layout.project && !summary.archived);
  if (!look || !found) throw new Refusal(`The meshes of ${layout.project} were never started. Start them: tx start`);
  const { id } = found.summary;
  return { id, log: await look.store.open(id), situation: found.situation };
}

/** Every fact, oldest first. */
export async function* allFacts(log: AgentLog): AsyncGenerator<Fact> {
  for (let after = 0; ; ) {
    const page = await log.read({ after, limit: PAGE });
    yield* page;
    after = page.at(-1)?.seq ?? after;
    if (page.length < PAGE) return;
  }
}

const PAGE = 1000;

/** Facts as they come, until `take` says that it is enough, or, then undefined, until Ctrl-C or `over`. */
export async function followProject<T>(
  { terminal }: TxCall,
  log: AgentLog,
  after: number,
  take: (fact: Fact) => Promise<T | undefined>,
  over: AbortSignal = new AbortController().signal,
): Promise<T | undefined> {
  const ending = new AbortController();
  const onInterrupt = () => ending.abort();
  process.once("SIGINT", onInterrupt).once("SIGTERM", onInterrupt);
  // Waiting for another process' file keeps nobody alive by itself.
  const alive = setInterval(() => {}, 60_000);
  try {
    for await (const fact of log.follow(after, AbortSignal.any([ending.signal, terminal.readerLeft, over]))) {
      const taken = await take(fact);
      if (taken !== undefined) return taken;
    }
    return undefined;
  } finally {
    ending.abort();
    clearInterval(alive);
    process.off("SIGINT", onInterrupt).off("SIGTERM", onInterrupt);
  }
}

/** The mesh that a fact is about: by its name, or by the agent that it names (`mesh/agent` in the roster). */
export function meshOf({ type, data }: Fact, roster: Situation["roster"]): string | undefined {
  if (type.startsWith("mesh.") && "mesh" in data) return String(data.mesh);
  const worker = "worker_id" in data ? data.worker_id : "from" in data ? data.from : undefined;
  const name = typeof worker === "string" && Object.hasOwn(roster, worker) ? roster[worker]?.spawned.name : undefined;
  return name?.split("/", 1)[0];
}
