import { randomUUID } from "node:crypto";
import { setTimeout as sleepFor } from "node:timers/promises";
import type { Store } from "../../store/store.ts";
import { type ManualClock, manualClock } from "../../testing/manual-clock.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { Database } from "../database.ts";
import { EngineError, engineAddress } from "../engine-address.ts";
import { Host } from "../host.ts";
import { migrate } from "../migrations.ts";
import { openEngineStore } from "../open-engine-store.ts";

/** A machine of its own: a home, its connections, its clock. */
export interface TestMachine extends AsyncDisposable {
  store: Store;
  host: Host;
  database: MortalDatabase;
  clock: ManualClock;
  home: string;
  lost: number;
  /** As when it is dead: nobody has heard of it for longer than others wait. */
  silence(): Promise<void>;
}

/** Its host is killed once it has asked so much: nothing that it asks after that arrives. */
class MortalDatabase extends Database {
  questions = Number.POSITIVE_INFINITY;

  override async query<T extends object>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    if (this.questions-- <= 0) throw new EngineError("the host is dead");
    return super.query<T>(text, values);
  }
}

interface MachineOptions {
  /** Whether it looks for files that no fact followed. */
  looks?: boolean;
}

export async function machine(
  url: string,
  schema: string,
  { looks = true }: MachineOptions = {},
): Promise<TestMachine> {
  const folder = await temporaryHome();
  const database = new MortalDatabase(engineAddress(url, schema));
  await migrate(database);
  const clock = manualClock();
  const sleep = (ms: number, signal: AbortSignal) => clock.sleep(ms, signal);
  const host = new Host({ database, name: folder.path, newId: randomUUID, elapsed: () => clock.now(), sleep });
  const store = await openEngineStore({
    ...{ root: folder.path, database, host, clock, loginFiles: [".claude/.credentials.json"] },
    sleep: (ms, signal) =>
      sleepFor(ms > SHORT_MS ? BUSY_MS : looks || ms < LOOK_MS ? 10 : HOUR_MS, undefined, { signal }),
  });
  const made: TestMachine = {
    ...{ store, host, database, clock, home: folder.path, lost: 0 },
    async silence() {
      await database.query("update hosts set beat = now() - interval '11 seconds' where host = $1", [host.id]);
    },
    async [Symbol.asyncDispose]() {
      // A host that is dead waits for its engine until it knows that it is lost.
      if (database.questions <= 0) await clock.advance(LOST_MS);
      await store.close();
      await database.close();
      await folder.remove();
    },
  };
  await host.join(() => made.lost++);
  return made;
}

/** Between looks at files, and longer than that. */
const LOOK_MS = 2000;
const SHORT_MS = 3000;
/** What ends something that takes too long: a busy machine needs more than a person would wait. */
const BUSY_MS = 60_000;
const LOST_MS = 9000;
const HOUR_MS = 3_600_000;
