import { didYouMean } from "../../boundary/nearest.ts";
import type { AgentSummaryData, Situation } from "../../projections/index.ts";
import type { Store } from "../../store/store.ts";
import { type ListedAgent, lookAtAll } from "./agent-list.ts";

/** No agent matches what the person typed: an id, a name, or the beginning of either. */
export class NoSuchAgent extends Error {
  override readonly name = "NoSuchAgent";
}

const MOST_NAMED = 8;

/** Finds the name in the list, for which no log is folded; then folds only that one. */
export async function findAgent(store: Store, word: string): Promise<Situation> {
  return findAmong((await lookAtAll(store, 0)).agents, word);
}

export async function findAmong(agents: readonly ListedAgent[], word: string): Promise<Situation> {
  const typed = folded(word);
  const exact = agents.filter(({ summary: { id, name } }) => id === word || name.normalize() === word.normalize());
  const alike = agents.filter(({ summary: { id, name } }) =>
    [id, id.slice("agent-".length), folded(name)].some((known) => known.startsWith(typed)),
  );
  const found = exact.length > 0 ? exact : alike;
  if (found.length === 1 && found[0]) return found[0].situation();
  const names = (list: readonly { summary: AgentSummaryData }[]) =>
    list
      .slice(0, MOST_NAMED)
      .map(({ summary }) => `${summary.id} (${summary.name})`)
      .join(", ");
  if (found.length > 1)
    throw new NoSuchAgent(`"${word}" matches several agents: ${names(found)}. Give more of the name, or the id.`);
  if (agents.length === 0)
    throw new NoSuchAgent(`There is no agent "${word}": this home has none yet. Begin with: agiraph run "your goal"`);
  const near = didYouMean(
    word,
    agents.map(({ summary }) => summary.name),
  );
  const more = agents.length > MOST_NAMED ? " All of them: agiraph ls" : "";
  throw new NoSuchAgent(`There is no agent "${word}".${near} Choose from: ${names(agents)}.${more}`);
}

/** Some keyboards and file systems write an umlaut as two characters. */
function folded(name: string): string {
  return name.normalize().toLowerCase();
}
