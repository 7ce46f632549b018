import type { Scrubber } from "../boundary/scrubber.ts";
import { type Catalog, createCatalog } from "../models/catalog/catalog.ts";
import type { ModelProvider } from "../models/catalog/model-provider.ts";
import type { Model } from "../models/model.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Config } from "../protocol/config.ts";
import type { AgentId } from "../protocol/index.ts";
import { codeOf } from "../store/disk/disk.ts";
import { nodeDisk } from "../store/disk/node-disk.ts";
import { engineMarkOf } from "../store/home/engine-mark.ts";
import { requireTrustedHome } from "../store/home/home-modes.ts";
import { requireReadableHome } from "../store/home/readable-home.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { commandSandboxOf } from "./command-sandbox.ts";
import { liveScrubber } from "./config/known-secrets.ts";
import { withConfigProblem } from "./config/live-config.ts";
import { type Settings, SettingsError } from "./config/settings.ts";
import { systemClock } from "./config/system-clock.ts";
import { AdditionNames } from "./extensions/addition-names.ts";
import { type Additions, closablesOf, closeAll, mergedAdditions } from "./extensions/additions.ts";
import { guardedChannel } from "./extensions/guarded-channel.ts";
import { guardedTool } from "./extensions/guarded-tool.ts";
import { loadExtensions } from "./extensions/load-extensions.ts";
import { channelsOf } from "./human/open-channels.ts";
import { LoginBroker } from "./logins/login-broker.ts";
import { programPorts, programsForCatalog } from "./programs/program-launch.ts";
import { secureRandom } from "./randomness.ts";
import { Runtime, type RuntimePorts } from "./runtime.ts";
import { startTelemetry, tracesUrl } from "./telemetry/telemetry.ts";
import { createToolFactory } from "./tool-factory.ts";
import { CatchUp } from "./views/catch-up.ts";

/** How a runtime is opened: its settings, and what is added to the built-ins. It owns what is added, and closes it. */
export interface RuntimeOptions extends Settings, Additions {}

/**
 * The composition root: everything real is created here and passed in; tests pass in their own.
 *
 * OPEN-1. What is added is checked before anything is opened.
 * OPEN-2. The caller has to close only the runtime: additions and extensions are closed with it, even if opening fails.
 */
export async function openRuntime(
  options: RuntimeOptions,
  instead: Partial<RuntimePorts> & { logins?: LoginBroker } = {},
): Promise<Runtime> {
  const settings: Settings = options;
  const clock = instead.clock ?? systemClock;
  const owned = closablesOf(mergedAdditions([options]));
  const commandSandbox = commandSandboxOf(settings);
  let opened: Store | undefined;
  try {
    const configured = channelsOf(settings, clock.now); // a missing secret is said before anything is opened
    const names = new AdditionNames(settings.config);
    const [problem] = names.take(options, "openRuntime");
    if (problem !== undefined) throw new SettingsError(problem);
    const { store = await openToWork(settings, clock) } = instead;
    if (store !== instead.store) opened = store;
    const extensions = await loadExtensions(settings, names, clock);
    owned.push(...extensions.loaded.flatMap(closablesOf));
    const added = mergedAdditions([options, ...extensions.loaded]);
    const random = instead.random ?? secureRandom;
    const variables = added.providers.flatMap(({ keyVariable }) => keyVariable ?? []);
    const scrubber = liveScrubber(settings, variables);
    const catalog = instead.catalog ?? liveCatalog(settings, added.providers, { clock, random, scrubber });
    const extraTools = added.tools.map((tool) => guardedTool(tool, clock));
    const { close, ...toolFactory } = createToolFactory(settings, clock, scrubber, commandSandbox, extraTools);
    const { sandbox } = toolFactory;
    const logins = instead.logins ?? new LoginBroker({ ...{ home: settings.home, env: settings.env, clock }, fetch });
    const price: Catalog["cost"] = (model, usage) => catalog.cost(model, usage);
    const runtime = new Runtime(settings, {
      ...toolFactory,
      store,
      catalog,
      clock,
      random,
      scrubber,
      outside: programPorts(settings, { sandbox, clock, scrubber, price, logins }),
      channels: [...configured, ...added.channels.map((channel) => guardedChannel(channel, scrubber))],
      addedTools: added.tools.map(({ spec }) => spec.name),
      extensions: extensions.states,
      pid: process.pid,
      callbacks: {},
      ...(!instead.store && { catchUp: new CatchUp(store.root) }),
      ...instead,
    });
    runtime.attach({
      hear: () => {},
      close: async () => void (await Promise.all([close(), logins.close(), closeAll(owned, clock)])),
    });
    const traces = tracesUrl(settings.env);
    const nameOf = (id: AgentId) => runtime.opened(id)?.now.agent.created.name;
    if (traces) runtime.attach(await startTelemetry(traces, settings.env, { now: clock.now, nameOf }));
    return runtime;
  } catch (error) {
    commandSandbox.close();
    await closeAll([...owned, ...(opened ? [opened] : [])], clock);
    throw error;
  }
}

/** Loaded when it is first asked for: those who have a model never need it. */
async function demo(): Promise<Model> {
  const { createSurveyor } = await import("../demo/surveyor.ts");
  return createSurveyor();
}

/** The models as config.json has them now, and why a name cannot be used although somebody may have written it there. */
function liveCatalog(
  settings: Settings,
  providers: readonly ModelProvider[],
  { clock: { sleep, now }, random, scrubber }: { clock: Clock; random(): number; scrubber: Scrubber },
): Catalog {
  let made: { config: Config; catalog: Catalog } | undefined;
  const current = () => {
    const { config, env } = settings;
    if (made?.config !== config) {
      const ports = { sleep, now, random, scrubber, demo, ...programsForCatalog(settings) };
      made = { config, catalog: createCatalog({ env, config, providers, ...ports }) };
    }
    return made.catalog;
  };
  const explained = (error: unknown) => {
    if (error instanceof Error) error.message = withConfigProblem(settings, error.message);
    return error;
  };
  return {
    model: (id) =>
      current()
        .model(id)
        .catch((error: unknown) => Promise.reject(explained(error))),
    resolve(id) {
      try {
        return current().resolve(id);
      } catch (error) {
        throw explained(error);
      }
    },
    programOf: (id) => current().programOf(id),
    list: () => current().list(),
    chooseDefault: () => current().chooseDefault(),
    cost: (id, usage) => current().cost(id, usage),
  };
}

async function openToWork({ home, env }: Settings, clock: Clock): Promise<Store> {
  const mark = engineMarkOf(nodeDisk, home);
  if (mark)
    throw new SettingsError(
      `The home ${home} is a working copy of the engine ${mark.engine}: what is done in it alone would be lost. Start its server (agiraph serve --engine …), and try again; or choose another home with --home.`,
    );
  for (const tightened of requireTrustedHome(home, env)) process.emitWarning(tightened);
  return openHome(home, clock, false);
}

/** A read-only view of a home in which another process may be working. */
export function lookAtHome(home: string): Promise<Store> {
  return openHome(home, systemClock, true);
}

async function openHome(root: string, clock: Clock, readOnly: boolean): Promise<Store> {
  requireReadableHome(root);
  try {
    return await openStore({ root, disk: nodeDisk, clock, readOnly });
  } catch (error) {
    const why = UNUSABLE[codeOf(error) ?? ""];
    if (why === undefined) throw error;
    throw new SettingsError(`The home ${root} cannot be used: ${why}. Choose another with --home or AGIRAPH_HOME.`);
  }
}

const UNUSABLE: Readonly<Record<string, string>> = {
  ENOTDIR: "it is a file, or is below one",
  EEXIST: "it is a file",
  EACCES: "you may not write there",
  EPERM: "you may not write there",
  EROFS: "it is on a read-only disk",
};
