import { createCatalog } from "../models/catalog.ts";
import type { Clock } from "../protocol/clock.ts";
import type { AgentId } from "../protocol/index.ts";
import { codeOf } from "../store/disk.ts";
import { nodeDisk } from "../store/node-disk.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { channelsOf } from "./channels.ts";
import { systemClock } from "./clock.ts";
import { equip } from "./equipment.ts";
import { outsidePlace, programsForCatalog } from "./outside.ts";
import { Runtime, type RuntimePorts } from "./runtime.ts";
import { type Settings, SettingsError } from "./settings.ts";
import { startTelemetry, tracesUrl } from "./telemetry.ts";

/** The composition root: everything real is made here and handed in; tests hand in their own. */
export async function openRuntime(settings: Settings, instead: Partial<RuntimePorts> = {}): Promise<Runtime> {
  channelsOf(settings); // a missing secret is said before anything is opened
  const clock = instead.clock ?? systemClock;
  const store = instead.store ?? (await openHome(settings.home, clock, false));
  const random = instead.random ?? Math.random;
  const catalog =
    instead.catalog ??
    createCatalog({
      env: settings.env,
      config: settings.config,
      sleep: clock.sleep,
      now: clock.now,
      random,
      ...programsForCatalog(settings),
    });
  const { tools, foreignTools, check, sandbox, close } = equip(settings, clock);
  const runtime = new Runtime(settings, {
    store,
    catalog,
    clock,
    random,
    tools,
    foreignTools,
    check,
    sandbox,
    outside: outsidePlace(settings, { sandbox, clock, price: (model, usage) => catalog.cost(model, usage) }),
    pid: process.pid,
    callbacks: {},
    ...instead,
  });
  if (settings.config.mcp_servers) runtime.attach({ hear: () => {}, close });
  const traces = tracesUrl(settings.env);
  const nameOf = (id: AgentId) => runtime.opened(id)?.now.agent.created.name;
  if (traces) runtime.attach(await startTelemetry(traces, settings.env, { now: clock.now, nameOf }));
  return runtime;
}

/** Looks at a home that another process may be working in. */
export function lookAtHome(home: string): Promise<Store> {
  return openHome(home, systemClock, true);
}

async function openHome(root: string, clock: Clock, readOnly: boolean): Promise<Store> {
  try {
    return await openStore({ root, disk: nodeDisk, clock, readOnly });
  } catch (error) {
    const why = UNUSABLE[codeOf(error) ?? ""];
    if (why === undefined) throw error;
    throw new SettingsError(`The home ${root} cannot be used: ${why}. Choose another with --home or AGIRAPH_HOME.`);
  }
}

const UNUSABLE: Readonly<Record<string, string>> = {
  ENOTDIR: "it is, or lies under, a file",
  EEXIST: "it is a file",
  EACCES: "you may not write there",
  EPERM: "you may not write there",
  EROFS: "it is on a read-only disk",
};
