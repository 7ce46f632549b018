import type { AgentId } from "../../protocol/index.ts";
import { allSituations } from "../../runtime/state/situations.ts";
import type { Store } from "../../store/store.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { count } from "../wording/format.ts";
import { standingOf } from "../wording/standing.ts";
import { liveHolder } from "./live-holder.ts";

/**
 * What the process that has the home says about agents whose process was killed, with the commands to continue them.
 * Those that other terminals began in it meanwhile are at work.
 */
export async function interruptedAgents(store: Store, own: AgentId, call: Invocation): Promise<string | undefined> {
  const holder = liveHolder(store.root);
  // Only a courtesy: what cannot be read is told where it matters, by `ls`.
  const { situations } = await allSituations(store).catch(() => ({ situations: [] }));
  const left = situations.filter(
    (now) => now.agent.id !== own && now.agent.archived_ts === null && standingOf(now, holder) === "interrupted",
  );
  if (left.length === 0) return undefined;
  const names = situations.map(({ agent }) => agent.created.name);
  const commands = left.slice(0, MOST).map(({ agent: { id, created } }) => {
    const isOnly = names.filter((name) => name === created.name).length === 1;
    return commandLine(call, "resume", isOnly ? created.name : id);
  });
  const more = left.length > MOST ? [`all of them: ${commandLine(call, "ls")}`] : [];
  const verb = left.length === 1 ? "was" : "were";
  return `${count(left.length, "agent")} ${verb} interrupted: ${[...commands, ...more].join(" · ")}`;
}

const MOST = 3;
