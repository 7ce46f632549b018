import { randomUUID } from "node:crypto";
import { engineAddress } from "../engine/engine-address.ts";
import { openEngine } from "../engine/open-engine.ts";
import type { Postgres } from "../engine/testing/postgres.ts";
import { systemClock } from "../runtime/config/system-clock.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import { buildServer } from "../server/server.ts";
import type { ScriptedModel } from "./script.ts";
import { TestServer, TOKEN } from "./start-server.ts";
import { scriptedCatalog } from "./start-team.ts";
import { temporaryHome } from "./temporary-home.ts";

export interface HostPlan {
  postgres: Postgres;
  /** Hosts of the same schema are hosts of one engine. */
  schema: string;
  name: string;
  coordinator?: ScriptedModel;
  workers?: Record<string, ScriptedModel>;
  /** A home that is kept; otherwise one that goes with the host. */
  home?: string;
  onLost?(): void;
}

/** A server that works from an engine, on a real port, with scripted minds: one host of several in this process. */
export async function startHost({ postgres, schema, name, ...plan }: HostPlan): Promise<TestServer> {
  const temporary = plan.home === undefined ? await temporaryHome() : undefined;
  const settings = { home: plan.home ?? temporary?.path ?? "", env: {}, config: {} };
  const { store, clock, hosts } = await openEngine({
    ...{ address: engineAddress(postgres.url(), schema), home: settings.home, hostName: name, version: "test" },
    ...{ newId: randomUUID, elapsed: () => performance.now(), sleep: systemClock.sleep },
    loginFiles: [],
    onLost: () => plan.onLost?.(),
  });
  const { coordinator, workers = {} } = plan;
  const runtime = await openRuntime(settings, {
    ...{ store, clock, hosting: hosts, machine: async () => ({ loop: "", program: "" }) },
    ...(coordinator && { catalog: scriptedCatalog({ coordinator, workers }) }),
  });
  const app = await buildServer({ runtime, settings, token: TOKEN });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return new TestServer(app, runtime, temporary);
}
