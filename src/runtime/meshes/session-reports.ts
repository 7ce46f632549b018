import { addressName } from "../../mesh/files/layout.ts";
import type { SessionState } from "../../mesh/terminal/session-state.ts";
import type { MeshRecord } from "./mesh-record.ts";

export type ReportState = (state: SessionState, detail?: string) => void;

/** The last reported state of a session. */
export interface ReportedState {
  state: SessionState | null;
  /** How it came to this state, if there is something to say. */
  detail: string | null;
  /** Since when, in seconds. */
  since: number | null;
}

/** A session was started again (`starting`), or can receive messages now (`ready`). */
export type SessionStarted = (state: "starting" | "ready", mesh: string, agent: string) => void;

/** Records the states of the sessions of mesh agents, and knows the last state of each. */
export class SessionReports {
  readonly #record: MeshRecord;
  readonly #now: () => number;
  readonly #onStarted: SessionStarted;
  readonly #states = new Map<string, ReportedState>();

  constructor(record: MeshRecord, now: () => number, onStarted: SessionStarted) {
    this.#record = record;
    this.#now = now;
    this.#onStarted = onStarted;
  }

  stateOf(address: AgentAddress): ReportedState {
    return this.#states.get(addressName(address)) ?? { state: null, detail: null, since: null };
  }

  reporterFor(address: AgentAddress, isTerminal: () => boolean): ReportState {
    const key = addressName(address);
    return (state, detail) => {
      if (this.#states.get(key)?.state === state) return;
      const since = this.#now() / 1000;
      this.#states.set(key, { state, detail: detail ?? null, since });
      this.#record.record({
        type: "mesh.session",
        data: { ...address, state, ...(detail !== undefined && { detail }) },
      });
      if (state === "broken") this.#record.tellWaiting(address, brokenText(address, detail ?? "it ended"));
      const isStarted = state === "ready" || (state === "starting" && isTerminal());
      if (isStarted) this.#onStarted(state, address.mesh, address.agent);
    };
  }
}

interface AgentAddress {
  mesh: string;
  agent: string;
}

function brokenText({ mesh, agent }: AgentAddress, why: string): string {
  return `${mesh}/${agent} cannot work: ${why} Its messages wait. When the problem is fixed, start it: tx spawn ${mesh} ${agent}`;
}
