import type { Clock } from "../protocol/clock.ts";
import type { Store } from "../store/store.ts";
import { adoptHome } from "./adopt-home.ts";
import { Database } from "./database.ts";
import type { EngineAddress } from "./engine-address.ts";
import { EngineClock } from "./engine-clock.ts";
import { EngineHosts } from "./engine-hosts.ts";
import { Host } from "./host.ts";
import { migrate } from "./migrations.ts";
import { openEngineStore } from "./open-engine-store.ts";

export interface JoinOptions {
  address: EngineAddress;
  /** The home of this host: from now on a working copy. */
  home: string;
  /** For people: who this host is. */
  hostName: string;
  /** Of the program. */
  version: string;
  newId(): string;
  /** Only goes forward, in milliseconds. */
  elapsed(): number;
  sleep: Clock["sleep"];
  /** Where programs keep logins, below a home of theirs: those never go to the engine. */
  loginFiles: readonly string[];
  /** It was not heard for too long: what it had may be another host's. Nothing more is recorded. */
  onLost(): void;
}

/** A host that works from an engine. Closing the store ends all of it, in order. */
export interface EngineHome {
  store: Store;
  /** The engine's, as all hosts see it. */
  clock: Clock;
  hosts: EngineHosts;
}

/** Joins the hosts of an engine. */
export async function openEngine(options: JoinOptions): Promise<EngineHome> {
  const { address, home, hostName, version, newId, elapsed, sleep, loginFiles, onLost } = options;
  const database = new Database(address, { connections: CONNECTIONS });
  let store: Store | undefined;
  try {
    await migrate(database);
    const engineClock = new EngineClock(elapsed);
    engineClock.note(await readClock(database, elapsed));
    const clock: Clock = { now: () => engineClock.now(), sleep };
    const mark = await adoptHome(database, home, { clock, newId });
    const host = new Host({ database, name: hostName, version, home: mark.home, newId, elapsed, sleep });
    const hosts = new EngineHosts({ database, host, root: home, clock, newId, elapsed });
    store = await openEngineStore({
      ...{ root: home, database, host, clock, sleep, loginFiles },
      claimed: (id) => hosts.watched.endFor(id),
      lastNote: (id) => hosts.directory.take(id),
      closed: () => database.close(),
    });
    host.onBeat((beat) => engineClock.note(beat));
    await host.join(onLost);
    hosts.begin();
    return { store, clock, hosts };
  } catch (error) {
    await (store ?? database).close();
    throw error;
  }
}

async function readClock(database: Database, elapsed: () => number) {
  const askedMs = elapsed();
  const [row] = await database.query<{ ms: number }>(
    "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
  );
  return { engineMs: row?.ms ?? 0, askedMs, answeredMs: elapsed() };
}

const CONNECTIONS = 6;
