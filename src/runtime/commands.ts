import { z } from "zod";
import { didYouMean } from "../boundary/nearest.ts";
import { innermost, issueWords } from "../boundary/schema-words.ts";
import { shellWord } from "../boundary/shell-word.ts";
import { unknownField } from "../boundary/unknown-field.ts";
import { isAtWork, type Situation, summaryView, type TriggerRecord, triggerRecords } from "../projections/index.ts";
import {
  type CheckedArgs,
  type Command,
  type CommandEntry,
  type CommandName,
  type CommandOf,
  type CommandResult,
  commandNames,
  commandParams,
  commandParamsOf,
  commands,
} from "../protocol/commands.ts";
import { type Actor, type AgentId, COORDINATOR, HUMAN } from "../protocol/index.ts";
import type { TriggerOrder } from "../triggers/trigger-order.ts";
import type { Agent } from "./agent.ts";
import { checkProject, inField, type NewAgent, WrongField } from "./agent-order.ts";
import { checkNotArchived } from "./human/human-facts.ts";
import { HumanRefusal } from "./human/human-refusal.ts";
import { MESH_HANDLERS, type MeshCommandPorts } from "./mesh-commands.ts";
import { actingAs } from "./state/acting.ts";
import { changeTriggers, type TriggerChange } from "./time/trigger-changes.ts";

/** Where commands are carried out. */
export interface CommandPorts extends MeshCommandPorts {
  create(order: NewAgent): Promise<Agent>;
  checkModel(id: string): unknown;
}

/**
 * Carries out a command. This is the only place where that happens, however the command came in.
 *
 * EXECUTE-1. When it resolves, what was asked is on disk, with the actor on every fact that the command itself led to.
 * EXECUTE-2. Commands are idempotent where possible: stopping what is stopped changes nothing.
 * EXECUTE-3. A command is checked with the schemas of its route, however it came in. One that cannot be carried out is
 *     refused in words (`HumanRefusal`, `WrongField`), and nothing changes.
 */
export async function execute<C extends CommandName>(
  ports: CommandPorts,
  command: CommandOf<C>,
  actor: Actor,
): Promise<CommandResult<C>> {
  const { do: name, ...args } = command as Command;
  const handler = Object.hasOwn(HANDLERS, name) ? (HANDLERS[name] as CommandHandler<C>) : undefined;
  if (!handler)
    throw new HumanRefusal("not_found", `There is no command "${name}".${didYouMean(String(name), commandNames)}`);
  return handler(checkedArgs(name, args) as CheckedArgs<C>, ports, actor);
}

/** As its route checks them: a terminal, a channel and a program of one's own come by no route. */
function checkedArgs(name: CommandName, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { body = NO_BODY }: CommandEntry = commands[name];
  const params = commandParamsOf(name);
  const given = Object.entries(args);
  const inBody = Object.fromEntries(given.filter(([field]) => !params.some((param) => param === field)));
  const checked = params.map((param) => [param, checkedValue(commandParams[param], args[param], [param])]);
  return { ...(checkedValue(body, inBody) as object | null), ...Object.fromEntries(checked) };
}

/** What is sent along with a command that needs nothing is not looked at. */
const NO_BODY = z.object({});

function checkedValue(schema: z.ZodType, value: unknown, at: string[] = []): unknown {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = innermost(error.issues);
  if (!issue) throw error;
  const [unknown] = issue.code === "unrecognized_keys" ? issue.keys : [];
  const path = [...at, ...issue.path];
  if (unknown === undefined) throw new WrongField(path.join("."), issueWords(issue));
  throw new WrongField([...path, unknown].join("."), unknownField(unknown, schema, path));
}

type CommandHandler<C extends CommandName> = (
  args: CheckedArgs<C>,
  ports: CommandPorts,
  actor: Actor,
) => Promise<CommandResult<C>>;

const HANDLERS: { readonly [C in CommandName]: CommandHandler<C> } = {
  create: async (order, ports, actor) => {
    if (order.project !== undefined) await checkProject(order.project);
    if (order.write && order.project === undefined)
      throw new WrongField("write", "It needs a project: the folder of the repository, as an absolute path.");
    return viewOf(await actingAs(actor, () => ports.create(order)));
  },
  archive: steer((agent) => agent.archive(HUMAN)),
  restore: steer((agent) => agent.restore(HUMAN)),
  stop: (args, ports, actor) => stop(args, ports, args.because ? { ...actor, kind: "program" } : actor),
  pause: steer(async (agent) => {
    if (agent.now.agent.status === "paused") return;
    checkAtWork(agent);
    await agent.pause(HUMAN);
  }),
  resume: steer(resume),
  set_models: say((agent, { model, worker_model }, _, ports) => {
    checkModels({ model, worker_model }, ports);
    return agent.changeModels({ model, worker_model });
  }),
  send: say((agent, { message, to = COORDINATOR }) => agent.send(message, to)),
  nudge: say((agent, { message }, { via }) => agent.nudge(message, via)),
  respond: say((agent, { response, question_id }, { via }) => agent.respond(response, question_id, via)),
  seen: say(async (agent, { from, message_id }) => {
    await agent.seen({ from, message_id });
    return "Seen.";
  }),
  revoke_permission: say((agent, { key }) => agent.revoke(key)),
  assign: say((agent, { node_id, worker }) => agent.assign(node_id, worker)),
  cancel: say((agent, { node_id, reason }) => agent.cancel(node_id, reason)),
  update_node: say((agent, { node_id, task, deliverables, checks }) =>
    agent.update(node_id, {
      ...(task !== undefined && { task }),
      ...(deliverables && { deliverables }),
      ...(checks && { checks }),
    }),
  ),
  publish: say((agent, { node_id, summary }, { via }) => agent.publish(node_id, summary, via)),
  accept: say((agent, { how = "branch", title, remote, into }) =>
    agent.repositoryWork.accept({ how, title, remote, into }),
  ),
  reject: say((agent, { node_id, reason }) => agent.repositoryWork.reject(node_id, reason)),
  comment: say((agent, { node_id, path, line, side = "new", text }) =>
    agent.repositoryWork.comment(node_id, { path, line, side, text }),
  ),
  rebase: say((agent, { ref }) => agent.repositoryWork.rebase(ref)),
  restore_work: say((agent, { ref, into }) => agent.repositoryWork.restore(ref, into)),
  create_trigger: trigger(({ id: _, ...order }) => ({ do: "schedule", order: order as TriggerOrder })),
  cancel_trigger: trigger(({ trigger_id }) => ({ do: "cancel_trigger", trigger_id })),
  pause_trigger: trigger(({ trigger_id }) => ({ do: "pause_trigger", trigger_id })),
  resume_trigger: trigger(({ trigger_id }) => ({ do: "resume_trigger", trigger_id })),
  ...MESH_HANDLERS,
};

type OfAgent = Exclude<CommandName, "create" | keyof typeof MESH_HANDLERS>;
type Done<Args, T> = (agent: Agent, args: Args, actor: Actor, ports: CommandPorts) => Promise<T>;

/** Opened before the actor acts: what opening sets going is nobody's command. */
function onAgent<C extends OfAgent, T>(act: Done<CheckedArgs<C>, T>) {
  return async (args: CheckedArgs<C>, ports: CommandPorts, actor: Actor): Promise<T> => {
    const agent = await ports.agent((args as unknown as { id: AgentId }).id);
    return actingAs(actor, () => act(agent, args, actor, ports));
  };
}

/** Answered with how the agent is doing then. */
function steer<C extends OfAgent>(act: Done<CheckedArgs<C>, void>) {
  return onAgent<C, ReturnType<typeof viewOf>>(async (agent, args, actor, ports) => {
    await act(agent, args, actor, ports);
    return viewOf(agent);
  });
}

/** Answered with what becomes of it, in words. */
function say<C extends OfAgent>(act: Done<CheckedArgs<C>, string>) {
  return onAgent<C, { status: "delivered"; detail: string }>(async (agent, args, actor, ports) => ({
    status: "delivered",
    detail: await act(agent, args, actor, ports),
  }));
}

/** Answered with the trigger as it is then. */
function trigger<C extends OfAgent>(change: (args: CheckedArgs<C>) => TriggerChange) {
  return onAgent<C, TriggerRecord & { detail: string }>(async (agent, args) => {
    const wanted = change(args);
    if (wanted.do === "schedule") checkNotArchived(agent.now);
    const { trigger_id, detail } = await changeTriggers(agent, wanted);
    // An agent at rest has begun to wait for something.
    if (wanted.do === "schedule") agent.keepTime();
    return { ...recordOf(agent.now, trigger_id), detail };
  });
}

async function resume(agent: Agent, args: CheckedArgs<"resume">, _: Actor, ports: CommandPorts): Promise<void> {
  const { budget_usd, budget_tokens, model, worker_model } = args;
  // Two may ask at once, as terminals do whose process has ended: one of them starts it.
  await agent.drained();
  const { status, created } = agent.now.agent;
  if (agent.isWorking)
    throw new HumanRefusal(
      "conflict",
      `${created.name} is already at work. To follow it: agiraph chat ${shellWord(created.name)}`,
    );
  checkNotArchived(agent.now);
  if (status === "completed")
    throw new HumanRefusal(
      "conflict",
      `${created.name} is completed. To have more done: agiraph send ${shellWord(created.name)} "what to do next"`,
    );
  checkModels({ model, worker_model }, ports);
  if (model ?? worker_model) await agent.changeModels({ model, worker_model });
  // Nobody works on it here, and this process holds the home: what counts as working was interrupted.
  const why = isAtWork(status) || status === "idle" ? "recovered" : "resumed";
  await agent.start(why, { budget_usd, budget_tokens });
}

const stop = steer<"stop">(async (agent, { because }) => {
  if (agent.now.agent.status === "stopped") return;
  checkAtWork(agent);
  await (because ? agent.stop("agiraph", NOBODY_ASKED[because]) : agent.stop(HUMAN));
});

const NOBODY_ASKED: Readonly<Record<NonNullable<CheckedArgs<"stop">["because"]>, string>> = {
  terminal_closed: "its terminal was closed",
  terminated: "its process was told to end, or the process that had started it was killed",
  reader_left: "the program that read its output has ended",
};

function checkModels(
  { model, worker_model }: { model: string | undefined; worker_model: string | undefined },
  { checkModel }: CommandPorts,
): void {
  if (model !== undefined) inField("model", () => checkModel(model));
  if (worker_model !== undefined) inField("worker_model", () => checkModel(worker_model));
}

function checkAtWork({ now }: Agent): void {
  const { status, created } = now.agent;
  if (!isAtWork(status))
    throw new HumanRefusal("conflict", `${created.name} is ${status}, so there is nothing to stop or pause.`);
}

function viewOf({ now }: Agent) {
  return summaryView(now);
}

function recordOf({ triggers, agent }: Situation, id: string): TriggerRecord {
  const found = triggerRecords(triggers, agent.id).findLast((record) => record.id === id);
  if (!found) throw new HumanRefusal("not_found", `There is no trigger "${id}".`);
  return found;
}
