import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Catalog } from "../models/catalog/catalog.ts";
import { UnknownModel } from "../models/catalog/model-name.ts";
import type { Watched, Write } from "../protocol/index.ts";
import { type Git, inspectRepository, noSuchRef, resolveBase } from "../repository/index.ts";
import { canLead, type ProgramNames } from "../workers/outside/programs.ts";
import type { Settings } from "./config/settings.ts";

/** The order for a new agent; what is left out is chosen from config, environment and keys. */
export interface NewAgent {
  goal: string;
  name?: string | undefined;
  mode?: "finite" | "infinite" | undefined;
  model?: string | undefined;
  worker_model?: string | undefined;
  budget_usd?: number | undefined;
  budget_tokens?: number | undefined;
  /** How long an infinite agent sleeps between its cycles; an hour if left out. */
  cycle_seconds?: number | undefined;
  /** What wakes an infinite agent when it changes, instead of the clock; looked at every `cycle_seconds` or as is usual for it. */
  watch?: Watched | undefined;
  /** The folder the team may read as `project/`. */
  project?: string | undefined;
  tools?: readonly string[] | undefined;
  /** Whether, and how, the team may change the repository of the project. */
  write?: Write | boolean | undefined;
}

export interface CheckedOrder extends NewAgent {
  model: string;
  /** Why this model, where nobody chose it; and what is to be said about it. */
  why: string | null;
  note: string | null;
}

/** A field of an order that is well-formed but wrong; the person can fix it. */
export class WrongField extends Error {
  override readonly name = "WrongField";
  readonly field: string;
  readonly code: string;

  constructor(field: string, problem: string, code = "bad_request", options?: ErrorOptions) {
    super(problem, options);
    this.field = field;
    this.code = code;
  }
}

/** The person can fix this: with a price in config.json, or without a budget. */
export class UnpricedModel extends Error {
  override readonly name = "UnpricedModel";
}

interface OrderPorts extends ProgramNames {
  settings: Pick<Settings, "env" | "config">;
  catalog: Pick<Catalog, "chooseDefault" | "model">;
  checkModel(id: string): { note: string | null };
  checkTools(names: readonly string[]): void;
  checkPrices(...models: (string | undefined)[]): Promise<void>;
}

/**
 * The defaults and checks of a new agent; there are no others. An agent that cannot think is of no use: a wrong model
 * or a missing key is reported before anything is created.
 */
export async function checkedOrder(order: NewAgent, ports: OrderPorts): Promise<CheckedOrder> {
  const { env, config } = ports.settings;
  const { model, why } = order.model ? { model: order.model, why: null } : await ports.catalog.chooseDefault();
  const worker_model = order.worker_model || env.AGIRAPH_WORKER_MODEL || config.worker_model;
  const budget_usd = order.budget_usd ?? config.budget_usd;
  const budget_tokens = order.budget_tokens ?? config.budget_tokens;
  const cycle_seconds = order.cycle_seconds ?? (order.mode === "infinite" ? config.cycle_seconds : undefined);
  const { note } = inField("model", () => ports.checkModel(model), sourceOf("model", order, ports.settings));
  inField("model", () => checkLead(model, ports));
  if (worker_model)
    inField("worker_model", () => ports.checkModel(worker_model), sourceOf("worker_model", order, ports.settings));
  const { tools } = order;
  if (tools) inField("tools", () => ports.checkTools(tools));
  for (const id of [model, worker_model]) if (id && ports.programFor(id) === undefined) await ports.catalog.model(id);
  if (budget_usd !== undefined)
    await ports.checkPrices(model, worker_model).catch((error: unknown) => {
      throw error instanceof UnpricedModel
        ? new WrongField("budget_usd", error.message, "unpriced_model", { cause: error })
        : error;
    });
  return { ...order, model, worker_model, budget_usd, budget_tokens, cycle_seconds, why, note };
}

function checkLead(model: string, { programFor, kindOf }: ProgramNames): void {
  const program = programFor(model);
  const kind = program === undefined ? undefined : kindOf(program);
  if (kind === undefined || canLead(kind)) return;
  throw new Error(
    `${program} cannot lead a team: it reads and writes files, and cannot call tools. It can work in one: choose another model, and ${program} as the workers' model.`,
  );
}

const VARIABLES = { model: "AGIRAPH_MODEL", worker_model: "AGIRAPH_WORKER_MODEL" } as const;

/** Where a model's name is set that the order does not have. */
function sourceOf(
  field: "model" | "worker_model",
  order: NewAgent,
  { env, config }: OrderPorts["settings"],
): string | undefined {
  if (order[field]) return undefined;
  if (env[VARIABLES[field]]) return VARIABLES[field];
  return config[field] ? `"${field}" in config.json` : undefined;
}

/** A name that cannot be used here comes with what to use instead; one that is unknown, with its source. */
export function inField<T>(field: "model" | "worker_model" | "tools", check: () => T, source?: string): T {
  try {
    return check();
  } catch (error) {
    const isUnknown = isUnknownModel(error);
    const modelCode = isUnknown ? "unknown_model" : "unusable_model";
    const code = field === "tools" ? "bad_request" : modelCode;
    const problem = error instanceof Error ? error.message : String(error);
    throw new WrongField(field, isUnknown && source ? `${source}: ${problem}` : problem, code, { cause: error });
  }
}

/** No such name, in contrast to one that lacks a key. */
function isUnknownModel(error: unknown): boolean {
  return error instanceof Error && (error instanceof UnknownModel || isUnknownModel(error.cause));
}

/** A folder that the server can read, as an absolute path. */
export async function checkProject(folder: string): Promise<void> {
  if (!isAbsolute(folder)) throw new WrongField("project", `${folder} is not an absolute path. Begin it with /.`);
  const found = await stat(folder).catch(() => undefined);
  if (!found)
    throw new WrongField(
      "project",
      `There is no folder ${folder} on the server's machine, or the server may not read it.`,
    );
  if (!found.isDirectory()) throw new WrongField("project", `${folder} is a file. Name the folder that it is in.`);
}

/** Refused before anything is made: what is no repository, or cannot be worked on now. */
export async function checkWrite(
  { project, write: order }: NewAgent,
  open: () => Promise<Git>,
): Promise<Write | undefined> {
  if (order === undefined || order === false) return undefined;
  const write = order === true ? {} : order;
  if (project === undefined) throw new WrongField("write", "There is no project folder for the team to change.");
  const git = await open();
  const found = await inspectRepository(project, git);
  if (!found.ok) throw new WrongField("write", found.reason);
  const { base } = write;
  if (base !== undefined && (await resolveBase(found.repository, base, git)) === undefined)
    throw new WrongField("write.base", await noSuchRef(found.repository, base, git));
  if (base !== undefined && write.dirty === "include")
    throw new WrongField(
      "write.dirty",
      "Uncommitted changes belong to HEAD, so they cannot be combined with another base. Leave out one of the two.",
    );
  return write;
}
