import type { AgentSummary } from "../../protocol/api/agents.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { lookAtHome } from "../../runtime/open-runtime.ts";
import { situationOf } from "../../runtime/state/situations.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { watchTeam } from "../talk/watch-team.ts";
import { startLines } from "../wording/repository-lines.ts";
import { isDetached, tellParent } from "./detached.ts";
import { JoinedAgent } from "./joined-agent.ts";
import { isServer, type OtherProcess } from "./other-process.ts";

/**
 * Another process holds the home and works on the agent; this terminal watches. A detached one ends at once if that
 * process is a server; otherwise it stays, and continues with the agent when the other process ends.
 */
export async function watchJoined(
  call: Invocation,
  settings: Settings,
  other: OtherProcess,
  { id, name }: Pick<AgentSummary, "id" | "name">,
  after: number,
): Promise<ExitCode> {
  const { terminal } = call;
  const isServed = isServer(other.holder);
  const store = await lookAtHome(settings.home);
  const log = await store.open(id as AgentId);
  if (isDetached(terminal.env)) {
    const notes = startLines(await situationOf(log));
    tellParent({ id, name, notes, ...(isServed && { server: other.client.url }) });
    if (isServed) return EXIT.done;
  }
  const agent = await JoinedAgent.open(call, settings, other, { log, after });
  try {
    return await watchTeam(agent, after, call);
  } finally {
    await agent.close();
  }
}

/** `in the server at http://127.0.0.1:4747`, `in the process with pid 812 (agiraph run)` */
export function whereItRuns({ holder, client }: OtherProcess): string {
  if (isServer(holder)) return `in the server at ${client.url}`;
  return `in the process with pid ${holder.pid}${holder.command ? ` (${holder.command})` : ""}`;
}
