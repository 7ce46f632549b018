import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleepFor } from "node:timers/promises";
import { turnOf, workOn } from "./restart.mjs";

/**
 * The two stores beside each other: plain files, and a PostgreSQL of the bench's own on the same machine and disk.
 *
 * BENCH-ENGINE-1. Both write durably: PostgreSQL with its own settings for that, the files with a sync for each append.
 * BENCH-ENGINE-2. The stores take turns in small blocks, so that a slow minute of the machine hits both.
 * BENCH-ENGINE-3. A turn is what a worker's turn records: four appends, each awaited, two of them with what was said,
 *     and a file of its node changed; thirty files are in its folder.
 */
export async function engineCost(home, options) {
  const { Postgres } = await import("../src/engine/testing/postgres.ts");
  await using postgres = await Postgres.start();
  const url = postgres.url();
  const turn = await turnCost(home, url, options);
  const rates = await rateCost(home, url, options);
  const idle_queries = await idleCost(home, url, options);
  const restored = await restoreCost(home, url, options);
  return { ...turn, ...rates, idle_queries, ...restored };
}

async function turnCost(home, url, { turns, block }) {
  await using files = await fileStore(join(home, "files"));
  await using engine = await engineStore(join(home, "engine"), url, "turns");
  const spent = { files: [], engine: [] };
  const sides = await Promise.all(
    Object.entries({ files, engine }).map(async ([name, { store }]) => ({ name, log: await newAgent(store) })),
  );
  for (const { log } of sides) for (let n = 1; n <= block; n++) await turn(log, n);
  for (let done = 0; done < turns; done += block)
    for (const { name, log } of sides)
      for (let n = 1; n <= block; n++) {
        const began = performance.now();
        await turn(log, block + done + n);
        spent[name].push(performance.now() - began);
      }
  return {
    turn_ms: percentile(spent.engine, 0.5),
    turn_p95_ms: percentile(spent.engine, 0.95),
    file_turn_ms: percentile(spent.files, 0.5),
    overhead_ms: percentile(spent.engine, 0.5) - percentile(spent.files, 0.5),
  };
}

async function newAgent(store, id = "agent-bench0001") {
  const log = await store.create(id);
  const scratch = join(log.dir, SCRATCH);
  mkdirSync(scratch, { recursive: true });
  for (let n = 0; n < 30; n++) writeFileSync(join(scratch, `${n}.md`), `file ${n}\n`.repeat(50));
  await log.append({ facts: workOn(1).slice(0, 4) }).durable;
  return log;
}

async function turn(log, number) {
  const said = (role) => ({ file: CONVERSATION, entries: [{ role, from: "human", content: "words ".repeat(100) }] });
  const facts = turnOf({ worker_id: "ben", node_id: "node-1" }, number);
  await log.append({ facts: [facts[0]] }).durable;
  await log.append({ facts: [facts[1]], entries: said("user") }).durable;
  await log.append({ facts: [facts[2]] }).durable;
  writeFileSync(join(log.dir, SCRATCH, `${number % 30}.md`), `turn ${number}\n`.repeat(50));
  await log.append({ facts: [facts[3]], entries: said("user") }).durable;
}

/** Facts a second, by eight workers of one agent who each wait for theirs before they go on; and by those of eight agents. */
async function rateCost(home, url, { facts, writers, agents }) {
  const rates = {};
  const sides = {
    "": () => engineStore(join(home, "rates-engine"), url, "rates"),
    file_: () => fileStore(join(home, "rates-files")),
  };
  for (const [name, open] of Object.entries(sides)) {
    await using side = await open();
    const logs = await Promise.all(
      Array.from({ length: agents }, (_, n) => side.store.create(`agent-rates${String(n).padStart(3, "0")}`)),
    );
    rates[`${name}one_a_second`] = await rate(logs.slice(0, 1), writers, facts);
    rates[`${name}eight_a_second`] = await rate(logs, writers, facts);
  }
  return rates;
}

async function rate(logs, writers, facts) {
  let left = facts;
  const fact = turnOf({ worker_id: "ben", node_id: "node-1" }, 1)[0];
  const began = performance.now();
  await Promise.all(
    logs.flatMap((log) =>
      Array.from({ length: writers }, async () => {
        while (left-- > 0) await log.append({ facts: [fact] }).durable;
      }),
    ),
  );
  return (facts / (performance.now() - began)) * 1000;
}

/** What a host asks the engine while its agents rest. */
async function idleCost(home, url, { seconds, settle = 6 }) {
  await using engine = await engineStore(join(home, "idle"), url, "idle");
  const logs = [];
  for (let n = 0; n < 20; n++) logs.push(await newAgent(engine.store, `agent-idle${String(n).padStart(4, "0")}`));
  for (const log of logs) await log.append({ facts: [{ type: "agent.stopped", data: { by: "human" } }] }).durable;
  // What follows the last fact is done within seconds.
  await sleepFor(settle * 1000);
  const before = engine.database.asked;
  await sleepFor(seconds * 1000);
  return (engine.database.asked - before) / seconds;
}

/** An agent of a host that is gone, opened by another that never had it. */
async function restoreCost(home, url, { restored }) {
  {
    await using one = await engineStore(join(home, "gone"), url, "restore");
    const log = await newAgent(one.store);
    for (let node = 2; log.seq < restored; node++)
      for (const fact of workOn(node)) await log.append({ facts: [fact] }).durable;
    for (let n = 0; n < 300; n++) writeFileSync(join(log.dir, SCRATCH, `more-${n}.md`), `${n} `.repeat(2000));
    await log.append({ facts: [{ type: "agent.stopped", data: { by: "human" } }] }).durable;
  }
  await using two = await engineStore(join(home, "next"), url, "restore");
  const began = performance.now();
  const log = await two.store.open("agent-bench0001");
  const restore_ms = performance.now() - began;
  if (log.seq < restored) throw new Error(`restored ${log.seq} facts instead of ${restored}`);
  return { restore_ms, restored_facts: log.seq };
}

async function fileStore(root) {
  const { openStore } = await import("../src/store/open-store.ts");
  const store = await openStore({ root, clock: Date });
  return { store, [Symbol.asyncDispose]: () => store.close() };
}

/** A host of its own, as `agiraph serve --engine` opens it. */
async function engineStore(root, url, schema) {
  const [{ Database }, { engineAddress }, { Host }, { migrate }, { openEngineStore }] = await Promise.all([
    import("../src/engine/database.ts"),
    import("../src/engine/engine-address.ts"),
    import("../src/engine/host.ts"),
    import("../src/engine/migrations.ts"),
    import("../src/engine/open-engine-store.ts"),
  ]);
  class Counted extends Database {
    asked = 0;
    query(text, values) {
      this.asked++;
      return super.query(text, values);
    }
  }
  const database = new Counted(engineAddress(url, schema), { connections: 8 });
  await migrate(database);
  const sleep = (ms, signal) => sleepFor(ms, undefined, { signal });
  const elapsed = () => performance.now();
  const host = new Host({ database, name: "bench", newId: randomUUID, elapsed, sleep });
  const store = await openEngineStore({ root, database, host, clock: Date, sleep, loginFiles: [] });
  await host.join(() => {});
  return {
    store,
    database,
    async [Symbol.asyncDispose]() {
      await store.close();
      await database.close();
    },
  };
}

function percentile(values, part) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * part)];
}

const SCRATCH = "runs/run-1/nodes/node-1/scratch";
const CONVERSATION = "runs/run-1/workers/ben/conversation.jsonl";
