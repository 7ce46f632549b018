import type { DeclaredAgent } from "../../mesh/declaration/declared-agent.ts";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { addressName, type Layout } from "../../mesh/files/layout.ts";
import type { Member } from "../../mesh/running/member.ts";
import { TmuxMember } from "../../mesh/terminal/tmux-member.ts";
import { TmuxServer, tmuxSocket } from "../../mesh/terminal/tmux-server.ts";
import { addressOf, MemberFactory, type MembersPorts } from "./member-factory.ts";
import type { MeshRecord, MeshRecordPorts } from "./mesh-record.ts";
import { describedRun, type RunsAs, runsAs } from "./runs-as.ts";
import { type ReportedState, type ReportState, SessionReports, type SessionStarted } from "./session-reports.ts";
import { sessionOf } from "./terminal-member.ts";

/** How an agent is run, and how it is doing. */
export interface AgentStatusView extends ReportedState {
  runs: RunsAs;
  program: string;
  /** What keeps it from starting, whether or not anybody has tried. */
  problem: string | null;
}

/** The members of a project's meshes: one for each agent that has work to do. */
export class MeshMembers {
  /** The runtime closes, and terminals are left as they are. */
  isLeaving = false;
  readonly #members = new Map<string, Member>();
  readonly #terminals = new Map<string, TmuxMember>();
  /** Members that are being closed: the next one of the same agent waits for that. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #server: TmuxServer;
  readonly #factory: MemberFactory;
  readonly #reports: SessionReports;
  /** Terminals that have outlived the process before this one. */
  #left: ReadonlySet<string> = new Set();

  constructor(
    layout: Layout,
    ports: MembersPorts,
    record: MeshRecord,
    recordPorts: MeshRecordPorts,
    onStarted: SessionStarted,
  ) {
    this.#server = new TmuxServer(tmuxSocket(ports.home, layout.project), ports.env.PATH ?? "");
    this.#factory = new MemberFactory(layout, ports, this.#server, record, recordPorts);
    this.#reports = new SessionReports(record, () => recordPorts.clock.now(), onStarted);
  }

  /** One for each agent, made when it is first needed, and again after it was closed. */
  member(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    const key = keyOf(mesh, agent);
    const known = this.#members.get(key);
    if (known) return known;
    const report = this.#reporter(mesh, agent);
    let made: Member;
    try {
      const before = this.#closing.get(key) ?? Promise.resolve();
      made = this.#factory.make({ mesh, agent, report, before, isLeaving: () => this.isLeaving });
    } catch (error) {
      report("broken", error instanceof Error ? error.message : String(error));
      return this.#absent(mesh, agent);
    }
    const member = this.#closable(key, made);
    if (made instanceof TmuxMember) this.#terminals.set(key, made);
    this.#members.set(key, member);
    return member;
  }

  /** A program that is not installed now may be there for the next message. */
  #absent(mesh: DeclaredMesh, agent: DeclaredAgent): Member {
    return {
      tell: async (message) => {
        this.#factory.profileOf(agent);
        await this.member(mesh, agent).tell(message);
      },
      close: async () => this.#members.get(keyOf(mesh, agent))?.close(),
    };
  }

  /** Null for an agent without a terminal. Throws, with advice, if its program is not installed. */
  terminal(mesh: DeclaredMesh, agent: DeclaredAgent): TmuxMember | null {
    if (!this.#isTerminal(mesh, agent)) return null;
    this.#factory.profileOf(agent);
    this.member(mesh, agent);
    return this.#terminals.get(keyOf(mesh, agent)) ?? null;
  }

  problemOf(agent: DeclaredAgent): string | null {
    return this.#factory.problemOf(agent);
  }

  stateOf(mesh: DeclaredMesh, agent: DeclaredAgent): AgentStatusView {
    const runs = this.#factory.runs(mesh, agent);
    const problem = this.problemOf(agent);
    return { runs, program: describedRun(agent), problem, ...this.#reports.stateOf(addressOf(mesh, agent)) };
  }

  attachWords(mesh: DeclaredMesh, agent: DeclaredAgent): string[] | null {
    if (!this.#isTerminal(mesh, agent)) return null;
    return this.#server.attachWords(sessionOf(mesh.config.mesh, agent.name));
  }

  /** Finds out which terminals have outlived the process before this one. */
  async look(): Promise<void> {
    this.#left = new Set(await this.#server.alive().catch(() => []));
  }

  isLeft(mesh: DeclaredMesh, agent: DeclaredAgent): boolean {
    return this.#isTerminal(mesh, agent) && this.#left.has(sessionOf(mesh.config.mesh, agent.name));
  }

  /** Follows the terminals again that were left running. */
  async reattach(meshes: Iterable<DeclaredMesh>): Promise<void> {
    for (const mesh of meshes) {
      for (const agent of mesh.agents.values()) {
        // If that fails, the next message says why.
        await this.#terminals
          .get(keyOf(mesh, agent))
          ?.attachIfRunning()
          .catch(() => {});
      }
    }
  }

  /** Ends an agent's session, also a terminal that an earlier process of ours has started. */
  async end(mesh: DeclaredMesh, agent: DeclaredAgent): Promise<void> {
    const key = keyOf(mesh, agent);
    const member = this.#members.get(key);
    if (member) await member.close();
    else if (runsAs(agent) === "tmux")
      await this.#closed(key, this.#server.kill(sessionOf(mesh.config.mesh, agent.name)));
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#members.values()].map((member) => member.close()));
    await Promise.allSettled(this.#closing.values());
    // Also the terminals of agents that are not declared any more, and what was started in them.
    if (!this.isLeaving) await this.#server.killAll().catch(() => {});
  }

  #closable(key: string, made: Member): Member {
    const before = this.#closing.get(key);
    const member: Member = {
      tell: async (message) => {
        await before;
        await made.tell(message);
      },
      close: async () => {
        if (this.#members.get(key) === member) {
          this.#members.delete(key);
          this.#terminals.delete(key);
        }
        await this.#closed(key, made.close());
      },
    };
    return member;
  }

  /** The next member of this agent waits for this, and for everything that was waited for already. */
  async #closed(key: string, closing: Promise<void>): Promise<void> {
    const ended = Promise.allSettled([this.#closing.get(key), closing]).then(() => {
      if (this.#closing.get(key) === ended) this.#closing.delete(key);
    });
    this.#closing.set(key, ended);
    await closing;
  }

  #isTerminal(mesh: DeclaredMesh, agent: DeclaredAgent): boolean {
    return this.#factory.runs(mesh, agent) === "tmux";
  }

  #reporter(mesh: DeclaredMesh, agent: DeclaredAgent): ReportState {
    return this.#reports.reporterFor(addressOf(mesh, agent), () => this.#isTerminal(mesh, agent));
  }
}

function keyOf(mesh: DeclaredMesh, agent: DeclaredAgent): string {
  return addressName(addressOf(mesh, agent));
}
