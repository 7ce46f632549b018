import type { Outgoing, Situation } from "../../projections/index.ts";

/** One message to the human, with everything that a receiver without access to the log needs to know. */
export interface Utterance extends Omit<Outgoing, "channels" | "from"> {
  /** The same at every try, also after a restart: anyone who has taken it before need not take it again. */
  delivery: string;
  agent: { id: string; name: string };
  from: { id: string; name: string };
}

export function utteranceOf(outgoing: Outgoing, { agent, roster }: Situation, channel: string): Utterance {
  const { channels: _, from, ...said } = outgoing;
  return {
    ...said,
    delivery: `${agent.id}.${said.of}.${said.fact}.${channel}`,
    agent: { id: agent.id, name: agent.created.name },
    from: { id: from, name: roster[from]?.spawned.name ?? from },
  };
}

export function headlineOf({ topic, agent, from, ended, permission }: Utterance): string {
  switch (topic) {
    case "questions":
      return `${from.name} of ${agent.name} asks${permission ? " for permission" : ""}`;
    case "messages":
      return `${from.name} of ${agent.name} says`;
    case "ends":
      return ended === "completed" ? `${agent.name} has finished` : `${agent.name} has failed`;
  }
}

/** Further details, one per line. */
export function detailsOf(said: Utterance, isCut: boolean): string[] {
  const { topic, agent, of, deadline_ts, default: fallback } = said;
  const whole = isCut ? [`This is not all of it. Read the whole with: agiraph chat ${agent.id}`] : [];
  if (topic !== "questions") return whole;
  const until = deadline_ts === undefined ? undefined : new Date(deadline_ts * 1000).toISOString();
  return [
    ...whole,
    ...(until ? [`Answer by ${until}${fallback === undefined ? "" : `, otherwise: ${fallback}`}`] : []),
    `Answer with: agiraph answer ${agent.id} --question ${of} "…"`,
  ];
}
