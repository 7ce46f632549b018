import type { Catalog } from "../models/catalog/catalog.ts";
import type { AgentSummaryData, Situation } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { CommandName, CommandOf, CommandResult } from "../protocol/commands.ts";
import { type Actor, type AgentId, type Fact, type FactOf, NO_USAGE } from "../protocol/index.ts";
import { Git } from "../repository/index.ts";
import { isForWantOfRoom } from "../store/disk/disk.ts";
import { DiskFullError } from "../store/errors.ts";
import { gitTemporaryDir, isAgentId } from "../store/paths.ts";
import { createAgentFolder, removeAgentFolder } from "../store/run/node-folder.ts";
import type { AgentLog, Store } from "../store/store.ts";
import { problemWithTools } from "../tools/tool-names.ts";
import { Agent } from "./agent.ts";
import { AgentElsewhere, type SeenAgent } from "./agent-elsewhere.ts";
import { nameBeside, nameFrom, newAgentId } from "./agent-names.ts";
import { type CheckedOrder, checkedOrder, checkWrite, type NewAgent, UnpricedModel } from "./agent-order.ts";
import { type AgentServices, agentServices, type ServicePorts } from "./agent-services.ts";
import { execute } from "./commands.ts";
import { projectEntryFor } from "./config/project-config.ts";
import type { Settings } from "./config/settings.ts";
import { DiskFullRecovery, ENOUGH_ROOM } from "./disk-full-recovery.ts";
import { DrainingError, drainWhenAsked } from "./draining.ts";
import type { ExtensionState } from "./extensions/extension.ts";
import { giveElsewhere } from "./give-elsewhere.ts";
import type { Hosting } from "./hosting.ts";
import { type ChannelListeners, openListeners } from "./human/channel-listeners.ts";
import type { InboxItem } from "./human/inbox.ts";
import type { OpenChannel } from "./human/open-channels.ts";
import type { WebhookPorts } from "./human/webhook-handler.ts";
import type { WebhookListener } from "./human/webhook-listener.ts";
import { webhookMemory } from "./human/webhook-memory.ts";
import { MeshRecords } from "./mesh-records.ts";
import { OpenAgents } from "./open-agents.ts";
import { gitTemporary } from "./repository/person.ts";
import { SharedAgents } from "./shared-agents.ts";
import { currentActor, onItsOwn } from "./state/acting.ts";
import { takeUp } from "./take-over.ts";
import { heldCatalog, TurnHold } from "./turn-hold.ts";
import type { CatchUp } from "./views/catch-up.ts";
import { existingAgent } from "./views/existing-agent.ts";
import { RepositoryReader } from "./views/repository-view.ts";

export interface RuntimePorts extends ServicePorts {
  store: Store;
  /** The names of the tools that were added. */
  addedTools: readonly string[];
  /** What was found in the home's extensions. */
  extensions: readonly ExtensionState[];
  /** Folds long logs in a thread. Left out where the home is not on the real disk. */
  catchUp?: CatchUp;
  /** Where the home is a working copy: all agents of its engine, and the hosts that work on them. */
  hosting?: Hosting;
}

/** All agents of one home in this process: the composition root is `openRuntime`, this is what it composes. */
export class Runtime {
  readonly #ports: RuntimePorts;
  readonly #settings: Settings;
  readonly #agents: OpenAgents;
  /** Instead of those of the home alone: all agents of an engine. */
  readonly #shared: SharedAgents | undefined;
  /** Closed while this host is to give everything away. */
  readonly #hold: TurnHold;
  readonly #diskFullRecovery: DiskFullRecovery;
  readonly #meshRecords: MeshRecords;
  /** By project: the part of the environment that came with the start of its meshes. */
  readonly #meshEnvironments = new Map<string, Readonly<Record<string, string>>>();
  /** Of agents that are being made. */
  readonly #namesInUse = new Set<string>();
  #webhookMemory: WebhookPorts["memory"] | undefined;
  #attached: { close(): Promise<void> }[] = [];
  #listeners: ChannelListeners | undefined;
  /** Where answers come in by webhook. */
  webhookListeners: readonly WebhookListener[] = [];

  constructor(settings: Settings, ports: RuntimePorts) {
    this.#settings = settings;
    this.#ports = ports;
    const { store, clock, catchUp, hosting } = ports;
    this.#hold = new TurnHold(clock);
    this.#agents = new OpenAgents({
      ...{ store, now: clock.now, ...(catchUp && { catchUp }) },
      // What rests is for any host to take.
      ...(hosting && {
        keptOpen: 0,
        mayRest: (agent: Agent) => this.#shared?.mayRest(agent) ?? agent.isResting,
        opened: (agent: Agent) => {
          this.#shared?.opened(agent);
          // Whatever it was opened for: nobody else goes on with it, or keeps its time, while this host has it.
          onItsOwn(() => void takeUp(agent).catch(() => {}));
        },
      }),
    });
    this.#shared =
      hosting &&
      new SharedAgents({ directory: hosting.directory, agents: this.#agents, clock, open: (id) => this.agent(id) });
    if (hosting) {
      hosting.onBeat(() => this.#agents.closeSome());
      drainWhenAsked({ hosting, hold: this.#hold, agents: this.#agents });
      this.subscribe((fact) => this.#hold.note(fact));
      this.subscribe(({ agent_id }) => hosting.heard(agent_id));
    }
    this.#diskFullRecovery = new DiskFullRecovery({
      room: () => ports.store.room(),
      sleep: ports.clock.sleep,
      recover: async (id) => (await this.agent(id)).recover(),
    });
    this.#meshRecords = new MeshRecords({
      listed: () => this.listed(),
      summary: (id) => this.summary(id),
      agent: (id) => this.agent(id),
      make: (created) => this.#makeMeshRecord(created),
    });
  }

  get store(): Store {
    return this.#ports.store;
  }

  get catalog(): Catalog {
    return this.#ports.catalog;
  }

  get clock(): Clock {
    return this.#ports.clock;
  }

  /** The same for every listener by which answers come in, so that what one of them took is refused by the others. */
  webhookPorts(): WebhookPorts {
    const { now } = this.#ports.clock;
    this.#webhookMemory ??= webhookMemory(this.#settings.home, now());
    return { execute: (command, actor) => this.execute(command, actor), now, memory: this.#webhookMemory };
  }

  get channels(): readonly OpenChannel[] {
    return this.#ports.channels;
  }

  /** The extensions of the home: what each adds, or why it was not loaded. */
  get extensions(): readonly ExtensionState[] {
    return this.#ports.extensions;
  }

  /** What keeps things from being recorded: an engine that does not answer, no room, for as long as it lasts, or a disk that failed, until a restart. */
  get recordingProblem(): "disk_full" | "read_only" | "engine_away" | undefined {
    if (this.#ports.hosting?.isAway) return "engine_away";
    const { writeError } = this.#ports.store;
    if (writeError !== undefined && !(writeError instanceof DiskFullError)) return "read_only";
    const { isWaiting } = this.#diskFullRecovery;
    if (writeError === undefined && !isWaiting) return undefined;
    // Where there is room, nobody may have tried since; where somebody did and failed, it only seems to be there.
    const isFull = (writeError !== undefined && isWaiting) || this.#ports.store.room() < ENOUGH_ROOM;
    return isFull ? "disk_full" : undefined;
  }

  /** The agent, if it is open in this process already. */
  opened(id: AgentId): Agent | undefined {
    return this.#agents.opened(id);
  }

  /** The agents that somebody works on in this process. */
  atWork(): Agent[] {
    return this.#agents.all().filter((agent) => agent.isWorking);
  }

  /** What is missing in an order is chosen, and what cannot be had is said, before anything is made. */
  order(order: NewAgent): Promise<CheckedOrder> {
    return checkedOrder(order, {
      settings: this.#settings,
      catalog: this.#ports.catalog,
      checkModel: (id) => this.checkModel(id),
      programFor: (model) => this.programFor(model),
      kindOf: (name) => this.#ports.outside.kindOf(name),
      checkTools: (names) => this.checkTools(names),
      checkPrices: (...models) => this.checkPrices(...models),
    });
  }

  /** Creates the agent and starts it. Durable when it resolves. */
  async create(given: NewAgent): Promise<Agent> {
    const { store, random, machine } = this.#ports;
    // Its first prompt says what commands find: asked now, it is known by then.
    void machine();
    const order = await this.order(given);
    const write = await checkWrite(this.#withDefault(order), async () =>
      this.#git(await gitTemporary(this.#settings.home)),
    );
    const id = newAgentId(random);
    using name = await this.#nameFor(order);
    const log = await store.create(id);
    const created: FactOf<"agent.created">["data"] = {
      name: name.words,
      goal: order.goal,
      mode: order.mode ?? "finite",
      model: order.model,
      worker_model: order.worker_model ?? order.model,
      budget_usd: order.budget_usd ?? null,
      ...(order.budget_tokens !== undefined && { budget_tokens: order.budget_tokens }),
      ...(order.cycle_seconds !== undefined && { cycle_seconds: order.cycle_seconds }),
      ...(order.watch !== undefined && { watch: order.watch }),
      project: order.project ?? null,
      tools: order.tools ? [...order.tools] : null,
      ...(write && { write }),
    };
    const services = this.#services();
    const agent = await this.#firstFact(log, created, services).catch(async (error: unknown) => {
      // An agent without a fact is none. One that has its fact is there, and waits to be resumed: a fact is never erased.
      const isNone = log.seq === 0 && isForWantOfRoom(error);
      await log.close();
      if (isNone) await removeAgentFolder(log.dir);
      throw error;
    });
    await agent.start("created").catch((error: unknown) => {
      // It is made: it begins when there is room.
      if (!isForWantOfRoom(error)) throw error;
    });
    return agent;
  }

  /** Its own, or one that reminds of its goal; numbered where another agent has it. Held until the agent is on disk. */
  async #nameFor({ name, goal }: NewAgent): Promise<Disposable & { words: string }> {
    const others = new Set((await this.listed()).map((other) => other.name));
    const words = nameBeside(name ?? nameFrom(goal), (taken) => others.has(taken) || this.#namesInUse.has(taken));
    this.#namesInUse.add(words);
    return { words, [Symbol.dispose]: () => void this.#namesInUse.delete(words) };
  }

  /** The record of a project's meshes; made where there is none. Its meshes are at work once it is started. */
  meshRecord(project: string): Promise<Agent> {
    return this.#meshRecords.of(project);
  }

  async #makeMeshRecord(created: FactOf<"agent.created">["data"]): Promise<Agent> {
    const log = await this.#ports.store.create(newAgentId(this.#ports.random));
    return this.#firstFact(log, created, this.#services()).catch(async (error: unknown) => {
      await log.close();
      throw error;
    });
  }

  async #firstFact(log: AgentLog, created: FactOf<"agent.created">["data"], services: AgentServices): Promise<Agent> {
    await createAgentFolder(log.dir, { soul: await services.prompts("soul"), goal: created.goal });
    return this.#agents.add(log, async () => {
      const actor = currentActor();
      const fact = { type: "agent.created" as const, data: created, ...(actor && { actor }) };
      await log.append({ facts: [fact], expect: 0 }).durable;
      return onItsOwn(() => Agent.open(log, services));
    });
  }

  /** A budget can only be kept where prices are known. */
  async checkPrices(...models: (string | undefined)[]): Promise<void> {
    for (const id of models) {
      // A program says itself what it has cost, and is stopped by it.
      if (id === undefined || this.programFor(id) !== undefined) continue;
      if ((await this.#ports.catalog.cost(id, { ...NO_USAGE, input: 1000, output: 1000 })) !== null) continue;
      throw new UnpricedModel(
        `No price is known for ${id}, so a budget cannot be enforced. Set it in config.json ("models": {"${id}": {"prices": {"input": …, "output": …}}}, USD for a million tokens), or leave the budget out.`,
      );
    }
  }

  /** Throws, with advice, for a model that nobody can have here; it may also be a program. */
  checkModel(id: string): { note: string | null } {
    const resolved = this.#ports.catalog.resolve(id);
    const program = this.programFor(id);
    if (program !== undefined) this.#ports.outside.program(program);
    return resolved;
  }

  /** The program that stands where a model does. */
  programFor(model: string): string | undefined {
    return this.#ports.catalog.programOf(model);
  }

  /** Throws for a tool that nobody has, and names the nearest. */
  checkTools(names: readonly string[]): void {
    const servers = Object.keys(this.#settings.config.mcp_servers ?? {});
    const problem = problemWithTools(names, servers, this.#ports.addedTools);
    if (problem !== undefined) throw new Error(problem);
  }

  /** The repository of an agent that writes, to look at. */
  repositoryReader(now: Situation, agentDir: string): RepositoryReader {
    return RepositoryReader.of(now, agentDir, this.#git(gitTemporaryDir(this.#settings.home)));
  }

  #git(temporary: string): Git {
    return new Git({ env: this.#settings.env, temporary });
  }

  /** Whether a team writes where nobody said it: by what config.json says of the folder. */
  #withDefault(order: NewAgent): NewAgent {
    if (order.write !== undefined || order.project === undefined) return order;
    const writes = projectEntryFor(this.#settings.config.projects, order.project)?.write ?? false;
    return writes ? { ...order, write: true } : order;
  }

  /** Carries a command out, for anyone who gives it. */
  async execute<C extends CommandName>(command: CommandOf<C>, actor: Actor): Promise<CommandResult<C>> {
    const { hosting } = this.#ports;
    const id = "id" in command ? String(command.id) : "";
    const owner = hosting && isAgentId(id) && !this.opened(id) ? await hosting.ownerOf(id) : undefined;
    if (hosting && owner) return giveElsewhere(hosting, owner, command, actor);
    const agent = async (id: string) => this.agent((await existingAgent(this.store, id)).id);
    const ports = {
      agent,
      create: (order: NewAgent) => this.create(order),
      checkModel: (id: string) => this.checkModel(id),
      meshRecord: (project: string) => this.meshRecord(project),
      meshEnvironments: this.#meshEnvironments,
    };
    return execute(ports, command, actor);
  }

  agent(id: AgentId): Promise<Agent> {
    if (this.isDraining && !this.opened(id)) return Promise.reject(new DrainingError(id));
    return this.#agents.get(id, (log) => Agent.open(log, this.#services()));
  }

  /** This host takes nothing new: what it has goes elsewhere. */
  get isDraining(): boolean {
    return this.#hold.isOn;
  }

  /** To look on, wherever it is at work. */
  async seen(id: AgentId): Promise<SeenAgent> {
    const { hosting } = this.#ports;
    const isElsewhere = hosting && !this.opened(id) && (this.isDraining || (await hosting.ownerOf(id)) !== undefined);
    return isElsewhere ? AgentElsewhere.open(hosting, id) : this.agent(id);
  }

  /** All agents of the home in a few fields each, newest first. Those that rest are not opened for it. */
  summaries(): Promise<AgentSummaryData[]> {
    return this.#list.summaries();
  }

  /** The same at once, for a list: agents whose long logs have not been folded yet are marked `loading`. */
  listed(): Promise<AgentSummaryData[]> {
    return this.#list.listed();
  }

  /** Called when agents that were listed as loading have been loaded. Returns the unsubscribe. */
  onLoaded(listener: () => void): () => void {
    return this.#list.onLoaded(listener);
  }

  summary(id: AgentId): Promise<AgentSummaryData> {
    return this.#list.summary(id);
  }

  get #list(): Pick<OpenAgents, "listed" | "onLoaded" | "summaries" | "summary"> {
    return this.#shared ?? this.#agents;
  }

  /** Where the home is a working copy: the engine and its hosts. */
  get hosting(): Hosting | undefined {
    return this.#ports.hosting;
  }

  /** What waits for the human with all agents of an engine; undefined for a home of its own. */
  sharedInbox(): Promise<InboxItem[]> | undefined {
    return this.#shared?.inbox();
  }

  /** Of an agent that need not be open. */
  situation(id: AgentId): Promise<Situation> {
    return this.#agents.situation(id);
  }

  /** Called with every fact of every agent at work here, once it is on disk. Returns the unsubscribe. */
  subscribe(listener: (fact: Fact) => void): () => void {
    return this.#agents.subscribe(listener);
  }

  /** Somebody who hears every fact, and is told when it was the last. */
  attach(listener: { hear(fact: Fact): void; close(): Promise<void> }): void {
    this.subscribe((fact) => listener.hear(fact));
    this.#attached.push(listener);
  }

  /** Lets answers in, by webhook and by the other channels. */
  async listen(): Promise<void> {
    if (this.channels.some(({ signed }) => signed?.port !== undefined)) {
      const { openWebhookListeners } = await import("./human/webhook-listener.ts");
      this.webhookListeners = await openWebhookListeners(this.channels, this.webhookPorts());
    }
    this.#listeners = await openListeners(this.channels, (command, actor) => this.execute(command, actor));
  }

  /** Channels that could not begin to listen, and why. What is said to the human leaves by them all the same. */
  get deafChannels(): ChannelListeners["failed"] {
    return this.#listeners?.failed ?? [];
  }

  async close(): Promise<void> {
    await this.#diskFullRecovery.close();
    for (const listener of this.webhookListeners) listener.close();
    await this.#listeners?.close();
    await this.#agents.close();
    await Promise.all(this.#attached.map((listener) => listener.close()));
    await this.#ports.store.close();
  }

  #services(): AgentServices {
    const { catalog, hosting } = this.#ports;
    const ports = hosting ? { ...this.#ports, catalog: heldCatalog(catalog, this.#hold) } : this.#ports;
    return agentServices(this.#settings, ports, {
      checkModel: (id) => void this.checkModel(id),
      programFor: (model) => this.programFor(model),
      checkTools: (names) => this.checkTools(names),
      checkPrices: (...models) => this.checkPrices(...models),
      hostMeshes: (project) => this.#meshRecords.host(project),
      agent: (id) => this.agent(id).catch(() => undefined),
      meshEnvironment: (project) => this.#meshEnvironments.get(project) ?? {},
      // What goes on later is not the command that found no room.
      hadNoRoom: (id) => onItsOwn(() => this.#diskFullRecovery.waitForRoom(id)),
    });
  }
}
