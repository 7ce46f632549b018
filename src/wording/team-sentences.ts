import { COORDINATOR, DEADLINE, type FactType, HUMAN } from "../protocol/index.ts";
import { amount, count } from "./figures.ts";
import { waitingWords } from "./phrases.ts";
import { by, details, type Sentences, thing } from "./sentence.ts";

type TeamFact = Extract<
  FactType,
  | `worker.${string}`
  | `permission.${string}`
  | `message.${string}`
  | `suggestion.${string}`
  | `human.${string}`
  | `question.${string}`
  | `memory.${string}`
  | `insight.${string}`
>;

/** Workers, messages, questions and memory. */
export const TEAM: Sentences<TeamFact> = {
  "worker.spawned": ({ worker_id, name, kind, model, identity }) => ({
    who: worker_id,
    subject: name,
    does: "joined",
    ...(identity !== undefined && { text: identity }),
    next: kind === "human" ? undefined : model,
    detail: details(worker_id, kind),
    tone: "new",
  }),
  "worker.briefed": ({ worker_id, identity }, style) =>
    by(worker_id, style, "has a new brief", { text: identity, tone: "begins" }),
  "worker.retired": ({ worker_id }, style) => by(worker_id, style, "was retired", { tone: "leaves" }),
  "worker.busy": ({ worker_id, node_id }, style) => by(worker_id, style, `is at work${on(node_id)}`),
  "worker.idle": ({ worker_id }, style) => by(worker_id, style, "is free"),
  "worker.waiting": (data, style) => {
    const { worker_id, node_id, for: reason } = data;
    // A person who has a node is waited for, and works.
    if (worker_id === HUMAN) return by(worker_id, style, `is at work${on(node_id)}`);
    const tone = reason === "rate_limit" || reason === "budget" ? "warning" : "plain";
    return by(worker_id, style, waitingWords(data, style.time), { tone, detail: details(node_id) });
  },
  "worker.stopped": ({ worker_id }, style) => by(worker_id, style, "was stopped", { tone: "leaves" }),
  "worker.session": ({ worker_id, node_id, session_id }, style) =>
    by(worker_id, style, `has its program running${on(node_id)}`, { detail: session_id }),
  "worker.permitted": ({ worker_id, tool, what }, style) =>
    what === undefined
      ? by(worker_id, style, `may use ${tool} without asking`)
      : by(worker_id, style, "need not ask again", { text: what, isWhole: true }),
  "permission.revoked": ({ worker_id, key }, style) =>
    by(worker_id, style, `must ask again (${key.slice(0, 8)} was revoked)`),
  "worker.checkpointed": ({ worker_id, node_id, summary }, style) =>
    by(worker_id, style, "reached a checkpoint", { text: summary, detail: details(node_id), tone: "tells" }),

  "message.sent": ({ message_id, from, to, reader, text }, style) =>
    by(from, style, `writes to ${style.name(to)}`, {
      text,
      isWhole: true,
      detail: details(message_id, reader !== undefined && `read by ${style.name(reader)}`),
      tone: to === HUMAN ? "to_you" : "tells",
      to,
    }),
  "message.received": ({ message_id, by: whom }, style) => by(whom, style, `read ${message_id}`),
  "message.forwarded": ({ message_id, to }, { name }) => thing(message_id, `was forwarded to ${name(to)}`),
  "message.expired": ({ message_id, why }) =>
    thing(message_id, "will not be read", { text: why, isWhole: true, tone: "leaves" }),
  "suggestion.made": ({ worker_id, node_id, suggestion }, style) =>
    by(worker_id, style, "suggests", { text: suggestion, isWhole: true, detail: details(node_id), tone: "tells" }),

  "human.question": ({ question_id, worker_id, text, choices = [], mesh_trust }, style) => {
    const detail = details(question_id, choices.join(" | "));
    if (mesh_trust) {
      const asks = `asks whether you trust the mesh ${mesh_trust.mesh}`;
      return thing("Agiraph", asks, { detail, tone: "asks" });
    }
    // Of a node that is theirs the text itself says so.
    if (worker_id === HUMAN) return thing("", "", { text, detail, tone: "asks" });
    return by(worker_id, style, "asks you", { text, detail, tone: "asks" });
  },
  "question.deferred": ({ worker_id, question_id }, style) =>
    by(worker_id, style, `continues; ${question_id} stays open`),
  "human.response": ({ worker_id, question_id, text, channel }, style) => {
    if (channel === DEADLINE) {
      const alone = { detail: question_id, tone: "warning" } as const;
      if (text === "") return by(worker_id, style, "got no answer in time and decides alone", alone);
      return by(worker_id, style, "got no answer in time and continues with the default", { ...alone, text });
    }
    const does = worker_id === HUMAN ? "said" : `answered ${style.name(worker_id)}`;
    return by(HUMAN, style, does, {
      text,
      detail: details(question_id, `by ${channel}`),
      tone: "tells",
      to: worker_id,
    });
  },
  "human.nudge": ({ text, channel }, style) =>
    by(HUMAN, style, "gave a hint", { text, detail: `by ${channel}`, tone: "tells", to: COORDINATOR }),

  "memory.written": ({ path, by: whom, bytes }, style) =>
    by(whom, style, `wrote ${path}`, { detail: count(bytes, "byte"), tone: "done" }),
  "memory.compacted": ({ worker_id, node_id, entries, tokens_before, tokens_after }, style) =>
    by(worker_id, style, `summed up ${count(entries, "entry", "entries")} to make room`, {
      next: `${amount(tokens_before)} → ${amount(tokens_after)} tokens`,
      detail: details(node_id),
      tone: "begins",
    }),
  "insight.offered": ({ worker_id, node_id, title }, style) =>
    by(worker_id, style, "offers an insight", { text: title, detail: details(node_id), tone: "tells" }),
  "insight.accepted": ({ insight_id, path }, style) =>
    by(COORDINATOR, style, `took ${insight_id} into ${path}`, { tone: "done" }),
  "insight.declined": ({ insight_id, why }, style) =>
    by(COORDINATOR, style, `declined ${insight_id}`, { text: why, tone: "leaves" }),
};

function on(node: string | null): string {
  return node === null ? "" : ` on ${node}`;
}
