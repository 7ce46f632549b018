import { randomUUID } from "node:crypto";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, script, startTeam, temporaryHome } from "../testing/index.ts";
import { adoptHome } from "./adopt-home.ts";
import { Database } from "./database.ts";
import { engineAddress } from "./engine-address.ts";
import { importHome } from "./import-home.ts";
import { migrate } from "./migrations.ts";
import { Postgres, withoutPostgres } from "./testing/postgres.ts";

test.skipIf(withoutPostgres)(
  `ADOPT-1, ADOPT-2: a home becomes a copy only where nothing would be lost ${withoutPostgres}`,
  async () => {
    await using postgres = await Postgres.start();
    await using folder = await temporaryHome();
    const home = folder.path;
    const clock = { now: Date.now };
    const ports = { clock, newId: randomUUID };
    await using team = await startTeam({
      ...{ home, goal: "Say hello" },
      coordinator: script(call("finish", { summary: "hello" })),
    });
    await team.outcome();
    const { id, dir } = team.agent.log;
    await team.runtime.close();
    await using database = new Database(engineAddress(postgres.url()));
    await migrate(database);
    await expect(adoptHome(database, home, ports)).rejects.toThrow(`of which it has less (${id}). Import them first`);
    await importHome(database, home, { clock, loginFiles: [], onTree: () => {} });
    const events = join(dir, "events.jsonl");
    const before = await readFile(events, "utf8");
    await appendFile(events, before.split("\n").at(-2) ?? "");
    await expect(adoptHome(database, home, ports)).rejects.toThrow("of which it has less");
    await folder.remove();

    await using fresh = await temporaryHome();
    const mark = await adoptHome(database, fresh.path, ports);
    expect(await adoptHome(database, fresh.path, ports)).toEqual(mark);
    await using other = new Database(engineAddress(postgres.url(), "elsewhere"));
    await expect(adoptHome(other, fresh.path, ports)).rejects.toThrow("is a working copy of another engine");
    await expect(startTeam({ home: fresh.path, goal: "Work in it", coordinator: script() })).rejects.toThrow(
      "is a working copy of the engine",
    );
  },
);
