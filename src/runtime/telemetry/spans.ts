import type { Tracer } from "@opentelemetry/api";
import type { AgentId, Fact } from "../../protocol/index.ts";
import { AgentSpans } from "./agent-spans.ts";

/**
 * Derives spans from the log: run → node → turn → model call and tool calls, named by the GenAI semantic conventions.
 *
 * SPANS-1. Spans follow from facts alone: workers know nothing of them. They begin and end when the facts say.
 * SPANS-2. They contain no text of people, models or tools: only ids, names, figures and kinds of failure.
 * SPANS-3. Spans that are open when a run ends or its agent rests end with it, so that nothing is kept for an agent at
 *     rest.
 */
export class Spans {
  readonly #tracer: Tracer;
  readonly #nameOf: (id: AgentId) => string | undefined;
  readonly #agents = new Map<AgentId, AgentSpans>();

  /** `nameOf`: of an agent that was made before anybody listened. */
  constructor(tracer: Tracer, nameOf: (id: AgentId) => string | undefined = () => undefined) {
    this.#tracer = tracer;
    this.#nameOf = nameOf;
  }

  readonly hear = (fact: Fact): void => {
    let agent = this.#agents.get(fact.agent_id);
    if (!agent) {
      if (!BEGINS.test(fact.type)) return;
      agent = new AgentSpans(this.#tracer, fact.agent_id, this.#nameOf(fact.agent_id));
      this.#agents.set(fact.agent_id, agent);
    }
    agent.hear(fact);
    if (RESTS.has(fact.type)) this.#agents.delete(fact.agent_id);
  };

  /** The process ends: what is under way is told as far as it came. */
  close(now: Date): void {
    for (const agent of this.#agents.values()) agent.endAll(now);
    this.#agents.clear();
  }
}

/** What begins something. Nothing else that happens to an agent at rest is work: a late result, a message that is seen. */
const BEGINS = /^(?:agent\.(?:created|started|resumed)|run\.started|node\.(?:created|started)|(?:model|tool)\.called)$/;
const RESTS = new Set<Fact["type"]>(["agent.stopped", "agent.paused", "agent.completed", "agent.failed"]);
