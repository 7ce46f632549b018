import type { NodeState, Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { HUMAN, type NewFact, type RunId } from "../../protocol/index.ts";
import type { TeamRepository } from "../repository/team-repository.ts";
import type { AgentFiles } from "../state/agent-files.ts";
import type { PendingLog } from "../state/pending-log.ts";
import type { AgentStart } from "../state/start-facts.ts";
import type { Team } from "../team/team.ts";
import type { Workforce } from "../team/workforce.ts";
import { HumanVoice } from "./human-voice.ts";
import { HumanWork } from "./human-work.ts";
import { RepositoryWork } from "./repository-work.ts";

interface HumanSidePorts {
  log: PendingLog;
  now(): Situation;
  pending(): Situation;
  clock: Clock;
  team(run: RunId): Team;
  readGoal(): Promise<void>;
  work: WorkPorts;
  workforce: Pick<Workforce, "isGivingOutWork" | "isUnderWay">;
  files: Pick<AgentFiles, "folderOf">;
  /** Of an agent that writes. */
  repository: TeamRepository | undefined;
}

/** How the agent begins and goes on. */
interface WorkPorts {
  readonly starting: Promise<void> | undefined;
  goOnOrSay(): Promise<string>;
  startNextRun(order: AgentStart): Promise<boolean>;
  openNextRun(trigger: string, first: (run: RunId) => { goal: string; facts: NewFact[] }): Promise<boolean>;
}

/** What the human does with one agent: what they say to it, their own nodes, and the work on their repository. */
export class HumanSide {
  readonly #ports: HumanSidePorts;
  readonly voice: HumanVoice;
  readonly nodes: HumanWork;
  readonly repository: RepositoryWork;

  constructor(ports: HumanSidePorts) {
    this.#ports = ports;
    const { work, workforce, files, repository, ...reach } = ports;
    const goOn = () => work.goOnOrSay();
    const openNextRun: WorkPorts["openNextRun"] = (trigger, first) => work.openNextRun(trigger, first);
    const voice = new HumanVoice({
      ...{ ...reach, goOn },
      drained: async () => work.starting,
      begin: (order) => work.startNextRun(order),
    });
    this.voice = voice;
    this.nodes = new HumanWork({
      ...{ ...reach, voice, openNextRun },
      isUnderWay: () => workforce.isGivingOutWork,
      folderOf: (node) => files.folderOf(node),
      cloneOf: repository && ((node) => this.#cloneIn(repository, node)),
    });
    this.repository = new RepositoryWork({ ...reach, repository, voice, goOn, openNextRun });
  }

  async #cloneIn(repository: TeamRepository, node: NodeState): Promise<string> {
    const human = this.#ports.pending().roster[HUMAN];
    if (!human) throw new Error("no clone without a human");
    // Where somebody works, the one who puts the node before them makes it.
    if (!this.#ports.workforce.isUnderWay) {
      await repository.prepare();
      await repository.open(node, human, new AbortController().signal);
    }
    return repository.folderOf(node);
  }
}
