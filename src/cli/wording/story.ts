import type { Roster } from "../../projections/index.ts";
import { DEADLINE, type Fact, type FactOf, HUMAN, type WorkerId } from "../../protocol/index.ts";
import { Speech } from "../live/speech.ts";
import { waitingWords } from "./activity.ts";
import { modelChangeWords, outcomeWords } from "./fact-line.ts";
import { milliseconds, money, spentOf } from "./format.ts";
import { nameOf } from "./names.ts";
import { askerName, questionText } from "./question-text.ts";
import { isTold, POLICY } from "./stage-words.ts";
import { laterLines } from "./story-later.ts";
import { line, type StoryLine } from "./story-line.ts";
import { headline, plain, plainLines } from "./width.ts";

export type { StoryLine } from "./story-line.ts";

/** What these do is a fact of its own, and that is told; only when they fail is there something to tell of the call. */
const TOLD_BY_FACTS = new Set([
  "create_work_node",
  "publish",
  "checkpoint",
  "send_message",
  "ask_human",
  "suggest_next",
  "spawn_worker",
  "launch_roles",
  "reconvene",
  "finish",
  "conclude",
  "schedule",
  "cancel_trigger",
  "cancel_node",
  "update_node",
  "give_up",
  "offer_insight",
  "accept_insight",
  "decline_insight",
  "memory_write",
]);

/** Tells what a team does as it happens: what is said, each tool call with how it ended, work made and done, its cost. */
export class Story {
  readonly #roster: () => Roster;
  readonly #speech = new Speech();
  /** What each call is about, until its result says how it went. */
  readonly #calls = new Map<string, string>();
  readonly #costs = new Map<string, number>();
  /** What everyone in the team comes upon, at every call; a person needs to hear it once. */
  readonly #told = new Set<string>();

  constructor(roster: () => Roster) {
    this.#roster = roster;
  }

  hear(delta: { worker_id: WorkerId; kind: "text" | "reasoning"; text: string }): StoryLine[] {
    if (delta.kind === "reasoning") return [];
    return this.#said(delta.worker_id, this.#speech.hear(delta.worker_id, delta.text));
  }

  tell(fact: Fact): StoryLine[] {
    const named = (id: string) => nameOf(this.#roster(), id);
    switch (fact.type) {
      case "model.responded":
        this.#count(fact);
        return this.#said(fact.data.worker_id, this.#speech.pause(fact.data.worker_id));
      case "model.failed":
        return [...this.#brokenOff(fact.data.worker_id), ...asideOf(fact, named)];
      case "tool.called":
        // Nothing to go by is nothing to tell.
        this.#calls.set(fact.data.call_id, fact.data.gist === "{}" ? "" : fact.data.gist);
        return [];
      case "tool.result":
        return this.#toolLines(fact, named);
      case "node.completed": {
        const { node_id, worker_id, summary } = fact.data;
        return [line(node_id, "done", `${named(worker_id)}: ${headline(summary)}${this.#costOf(node_id)}`)];
      }
      case "node.failed": {
        const { node_id, worker_id, outcome } = fact.data;
        const why = headline(outcomeWords(outcome));
        return [line(node_id, "failed", `${named(worker_id)}: ${why}${this.#costOf(node_id)}`)];
      }
      case "node.cancelled": {
        const { node_id, by, reason } = fact.data;
        return [line(node_id, "leaves", `cancelled by ${named(by)}: ${headline(reason)}${this.#costOf(node_id)}`)];
      }
      case "budget.set":
        for (const type of ["budget.warned", "budget.exceeded"]) this.#told.delete(type);
        return [];
      case "budget.warned":
      case "budget.exceeded":
        return this.#once(fact.type) ? asideOf(fact, named) : [];
      case "model.warned":
        return this.#once(`${fact.data.model}: ${fact.data.message}`) ? asideOf(fact, named) : [];
      default:
        return (
          workLines(fact, named) ??
          peopleLines(fact, named) ??
          humanLines(fact, named) ??
          laterLines(fact, named) ??
          asideOf(fact, named)
        );
    }
  }

  #once(words: string): boolean {
    const isNew = !this.#told.has(words);
    this.#told.add(words);
    return isNew;
  }

  /** Nothing more will come: what was said last, finished or not. */
  end(workers: Iterable<WorkerId>): StoryLine[] {
    return [...workers].flatMap((id) => this.#said(id, this.#speech.pause(id)));
  }

  #said(id: WorkerId, lines: string[]): StoryLine[] {
    const who = nameOf(this.#roster(), id);
    return lines.map((text) => line(who, "says", text)).filter(({ text }) => text !== "");
  }

  /** Nothing of it is used, and what is said next begins anew. */
  #brokenOff(id: WorkerId): StoryLine[] {
    return this.#said(
      id,
      this.#speech.pause(id).map((text) => `${text} … (broke off)`),
    );
  }

  #toolLines({ data }: FactOf<"tool.result">, named: (id: string) => string): StoryLine[] {
    const about = `${data.tool} ${this.#calls.get(data.call_id) ?? ""}`.trimEnd();
    this.#calls.delete(data.call_id);
    if (data.ok && TOLD_BY_FACTS.has(data.tool)) return [];
    const ending = data.ok ? `  ${milliseconds(data.ms)}` : ` — ${data.gist}`;
    return [line(named(data.worker_id), data.ok ? "done" : "failed", `${plain(about)}${ending}`)];
  }

  #count({ data }: FactOf<"model.responded">): void {
    if (data.node_id === null || data.cost_usd === null) return;
    this.#costs.set(data.node_id, (this.#costs.get(data.node_id) ?? 0) + data.cost_usd);
  }

  #costOf(node: string): string {
    const cost = this.#costs.get(node) ?? 0;
    return cost > 0 ? ` (${money(cost)})` : "";
  }
}

type Named = (id: string) => string;

/** The graph as it grows: stages and nodes. */
function workLines(fact: Fact, named: Named): StoryLine[] | undefined {
  switch (fact.type) {
    case "stage.started": {
      const { stage, name, contract } = fact.data;
      const title = name === `Stage ${stage}` ? "begins" : headline(name);
      const words = `${title} (${POLICY[contract.checkpoint_policy]})`;
      return isTold({ number: stage, name }) ? [line(`stage ${stage}`, "stage", words)] : [];
    }
    case "stage.reconvened":
      return [line(`stage ${fact.data.stage}`, "done", headline(fact.data.assessment))];
    case "node.created": {
      const { node_id, task, parent_node_id } = fact.data;
      return [line(node_id, "new", parent_node_id ? `${headline(task)} (part of ${parent_node_id})` : headline(task))];
    }
    case "node.started":
      return [line(fact.data.node_id, "begins", named(fact.data.worker_id))];
    case "node.released":
      return [line(fact.data.node_id, "new", "may begin")];
    case "node.updated":
      return [line(fact.data.node_id, "new", `changed by ${named(fact.data.by)}`)];
    case "node.reopened":
      return [line(fact.data.node_id, "new", reopenedWords(fact.data, named))];
    case "node.retried":
      return [
        line(fact.data.node_id, "warning", `${named(fact.data.worker_id)} tries again: ${headline(fact.data.error)}`),
      ];
    default:
      return undefined;
  }
}

function reopenedWords({ why, from, reserved_for }: FactOf<"node.reopened">["data"], named: Named): string {
  if (why !== "reassigned" || from === undefined || reserved_for === null) return "goes on where it was";
  return `goes on with ${named(reserved_for)}, from ${named(from)}`;
}

/** Who comes and goes, and what they tell each other. */
function peopleLines(fact: Fact, named: Named): StoryLine[] | undefined {
  switch (fact.type) {
    case "worker.spawned": {
      const { name, identity, model } = fact.data;
      // Those who are hired because work waits are seen with their work.
      return identity ? [line(plain(name), "new", `hired: ${headline(identity)} (${model})`)] : [];
    }
    case "worker.briefed":
      return [line(named(fact.data.worker_id), "begins", `new brief: ${headline(fact.data.identity)}`)];
    case "worker.retired":
      return [line(named(fact.data.worker_id), "leaves", "retired")];
    case "worker.checkpointed":
      return [line(named(fact.data.worker_id), "tells", `everyone: ${headline(fact.data.summary)}`)];
    case "message.sent":
      return messageLines(fact, named);
    case "suggestion.made":
      return [line(named(fact.data.worker_id), "tells", `coordinator: suggests ${fact.data.suggestion}`)];
    default:
      return undefined;
  }
}

function messageLines({ data: { from, to, text, aloud } }: FactOf<"message.sent">, named: Named): StoryLine[] {
  // Said aloud is heard already.
  if (aloud) return [];
  if (to !== HUMAN) return [line(named(from), "tells", `${named(to)}: ${text}`)];
  return spread(named(from), "to_you", plainLines(text));
}

/** What the team and its human have to do with each other. */
function humanLines(fact: Fact, named: Named): StoryLine[] | undefined {
  switch (fact.type) {
    case "run.started":
      // The first goal is the one that was just given.
      return fact.data.run_id === "run-1" ? [] : [line(fact.data.run_id, "begins", headline(fact.data.goal))];
    case "human.question":
      return spread(askerName(named, fact.data), "asks", questionText(fact.data));
    case "human.response": {
      const { worker_id, text, channel } = fact.data;
      if (channel !== DEADLINE) return [line("you", "tells", `${named(worker_id)}: ${text}`)];
      const then = text === "" ? "decides alone" : `goes on with: ${text}`;
      return [line(named(worker_id), "warning", `no answer came in time; ${then}`)];
    }
    case "human.nudge":
      return [line("you", "tells", `coordinator: ${fact.data.text}`)];
    default:
      return undefined;
  }
}

/** What is for a person is shown as it was written, line by line. */
function spread(who: string, mark: StoryLine["mark"], lines: string[]): StoryLine[] {
  return lines.filter((text) => text.trim() !== "").map((text, at) => ({ who: at === 0 ? who : "", mark, text }));
}

/** What goes wrong or changes beside the work itself. */
function asideOf(fact: Fact, named: Named): StoryLine[] {
  switch (fact.type) {
    case "model.failed": {
      const { worker_id, retry_in_ms, reason, message, model } = fact.data;
      const next = retry_in_ms === null ? "" : `; tries again in ${milliseconds(retry_in_ms)}`;
      const mark = retry_in_ms === null ? "failed" : "warning";
      return [line(named(worker_id), mark, `${model} (${reason}): ${message}${next}`)];
    }
    case "model.warned":
      return [line(named(fact.data.worker_id), "warning", fact.data.message)];
    case "mcp.changed": {
      const { worker_id, server, tool } = fact.data;
      return [line(named(worker_id), "warning", `the MCP server ${server} has changed its tool ${tool}`)];
    }
    case "mcp.failed":
      return [
        line(
          named(fact.data.worker_id),
          "warning",
          `goes on without the MCP server ${fact.data.server}: ${fact.data.why}`,
        ),
      ];
    case "worker.waiting":
      // Waiting for each other is the usual thing, and the tree shows it; what a person is waited for is their question.
      return fact.data.for === "news" || fact.data.for === "children" || fact.data.for === "human"
        ? []
        : [line(named(fact.data.worker_id), "warning", waitingWords(fact.data))];
    case "goal.set":
      return [line("goal", "begins", `changed in GOAL.md: ${headline(fact.data.goal)}`)];
    case "goal.refused":
      return [line("goal", "warning", `${fact.data.why} The goal stays as it was.`)];
    case "model.set":
      return [line("model", "begins", modelChangeWords(fact.data))];
    case "budget.warned":
      return [line("budget", "warning", `${spentOf(fact.data)} is spent`)];
    case "budget.exceeded":
      return [line("budget", "failed", `${spentOf(fact.data)} is spent; no more model calls`)];
    case "channel.delayed":
      // Once is enough to know of; `logs` has the others.
      return fact.data.attempts === 1
        ? [line(fact.data.channel, "warning", `${fact.data.of} did not go out, and is tried again: ${fact.data.why}`)]
        : [];
    case "channel.failed":
      return [line(fact.data.channel, "failed", `${fact.data.of} could not be delivered: ${fact.data.why}`)];
    case "log.repaired":
      return [
        line(
          "repair",
          "warning",
          `${fact.data.file}: ${fact.data.what}${fact.data.aside ? `; kept in ${fact.data.aside}` : ""}`,
        ),
      ];
    default:
      return [];
  }
}
