import { createCatalog } from "../models/catalog.ts";
import type { Clock } from "../protocol/clock.ts";
import { nodeDisk } from "../store/node-disk.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { systemClock } from "./clock.ts";
import { equip } from "./equipment.ts";
import { Runtime, type RuntimePorts } from "./runtime.ts";
import type { Settings } from "./settings.ts";

/** The composition root: everything real is made here and handed in; tests hand in their own. */
export async function openRuntime(settings: Settings, instead: Partial<RuntimePorts> = {}): Promise<Runtime> {
  const clock = instead.clock ?? systemClock;
  const store = instead.store ?? (await openHome(settings.home, clock, false));
  const random = instead.random ?? Math.random;
  const catalog =
    instead.catalog ??
    createCatalog({ env: settings.env, config: settings.config, sleep: clock.sleep, now: clock.now, random });
  const { tools, check } = equip(settings);
  return new Runtime(settings, { store, catalog, clock, random, tools, check, pid: process.pid, ...instead });
}

/** Looks at a home that another process may be working in. */
export function lookAtHome(home: string): Promise<Store> {
  return openHome(home, systemClock, true);
}

function openHome(root: string, clock: Clock, readOnly: boolean): Promise<Store> {
  return openStore({ root, disk: nodeDisk, clock, readOnly });
}
