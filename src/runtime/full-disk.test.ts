import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Disk } from "../store/disk/disk.ts";
import { nodeDisk } from "../store/disk/node-disk.ts";
import { openStore } from "../store/open-store.ts";
import { call, script, temporaryHome } from "../testing/index.ts";
import { scriptedCatalog, until } from "../testing/start-team.ts";
import { systemClock } from "./config/system-clock.ts";
import { openRuntime } from "./open-runtime.ts";

test("an answer that found no room can be given again, and is then taken once", async () => {
  const { agent, disk } = await asking();
  disk.isFull = true;
  await expect(agent.respond("Blue.")).rejects.toThrow("No space left");
  disk.isFull = false;
  expect(await agent.respond("Blue.")).toBe("Answered.");
  await until(agent, (now) => now.agent.status === "completed");
  expect(Object.values(agent.now.questions.settled).map(({ answer }) => answer?.text)).toEqual(["Blue."]);
});

test("whoever stopped for want of room goes on when there is some; until then it is said", async () => {
  const { agent, disk, runtime } = await asking();
  expect(runtime.recordingProblem).toBe(undefined);
  disk.isFull = true;
  await expect(agent.send("Make it a light one.")).rejects.toThrow("No space left");
  await expect(runtime.create({ goal: "Another", model: "scripted/coordinator" })).rejects.toThrow("No space left");
  expect(runtime.recordingProblem).toBe("disk_full");
  expect((await runtime.summaries()).map(({ id }) => id)).toEqual([agent.log.id]);
  await expect(agent.idle()).rejects.toThrow("No space left");
  disk.isFull = false;
  await until(agent, () => agent.isWorking);
  expect(await agent.respond("Blue.")).toBe("Answered.");
  await until(agent, (now) => now.agent.status === "completed");
  expect(runtime.recordingProblem).toBe(undefined);
});

test("what goes on when there is room again is not recorded as the command that found none", async () => {
  const { agent, disk, runtime } = await asking();
  const actor = { kind: "human", via: "terminal" } as const;
  const command = { do: "send", id: agent.log.id, message: "Make it a light one." } as const;
  disk.isFull = true;
  await expect(runtime.execute(command, actor)).rejects.toThrow("No space left");
  await expect(agent.idle()).rejects.toThrow("No space left");
  disk.isFull = false;
  await until(agent, () => agent.isWorking);
  const started = (await agent.log.read({ after: 0, limit: 1000 })).filter(({ type }) => type === "agent.started");
  expect(started).toMatchObject([{ data: { why: "created" } }, { data: { why: "recovered" } }]);
  expect(started.map((fact) => fact.actor)).toEqual([undefined, undefined]);
});

test("whoever stopped for want of room can be stopped for good, and stays so", async () => {
  const { agent, disk } = await asking();
  disk.isFull = true;
  await expect(agent.send("Make it a light one.")).rejects.toThrow("No space left");
  await expect(agent.idle()).rejects.toThrow("No space left");
  disk.isFull = false;
  await agent.stop("human");
  await agent.recover();
  expect([agent.now.agent.status, agent.isWorking]).toEqual(["stopped", false]);
});

test("an agent that found no room is not there, and leaves nothing behind", async () => {
  const { agent, disk, runtime } = await asking();
  disk.isFull = true;
  await expect(runtime.create({ goal: "Another", model: "scripted/coordinator" })).rejects.toThrow("No space left");
  expect(await readdir(join(runtime.store.root, "agents"))).toEqual([agent.log.id]);
  disk.isFull = false;
  expect((await runtime.create({ goal: "Another", model: "scripted/coordinator" })).now.agent.created.name).toBe(
    "another",
  );
  await runtime.close();
  expect(runtime.store.writeError).toMatchObject({ message: expect.stringContaining("was closed") });
});

test("where no file can be opened what is said is refused; when one can, everybody goes on", async () => {
  const { agent, disk, runtime } = await asking();
  disk.isOutOfFiles = true;
  const refused = await runtime.create({ goal: "Another", model: "scripted/coordinator" }).catch((error) => error);
  expect(refused).toMatchObject({ name: "TooManyFilesError", message: expect.stringContaining("ulimit -n") });
  // Its own file was closed for the other's.
  await expect(agent.send("Make it a light one.")).rejects.toThrow("Too many files are open");
  expect(runtime.recordingProblem).toBe(undefined);
  disk.isOutOfFiles = false;
  await until(agent, () => agent.isWorking);
  expect(await agent.respond("Blue.")).toBe("Answered.");
  await until(agent, (now) => now.agent.status === "completed");
});

test("an agent whose first fact is on disk is there, also where there was no file to read it with", async () => {
  const { agent, disk, runtime } = await asking();
  disk.cannotRead = true;
  const order = { goal: "Another", model: "scripted/coordinator" };
  await expect(runtime.create(order)).rejects.toThrow("too many open files");
  disk.cannotRead = false;
  const names = (await runtime.summaries()).map(({ name }) => name);
  expect(names.sort()).toEqual(["another", agent.now.agent.created.name]);
});

/** An agent that waits for an answer, on a disk that can be full. */
async function asking() {
  const home = await temporaryHome();
  const disk = { isFull: false, isOutOfFiles: false, cannotRead: false };
  const store = await openStore({ root: home.path, clock: systemClock, disk: fillable(disk) });
  const coordinator = script(
    call("ask_human", { question: "Which colour?" }),
    call("finish", { summary: "It is blue." }).after("Blue."),
  );
  const settings = { home: home.path, env: {}, config: {} };
  const runtime = await openRuntime(settings, { store, catalog: scriptedCatalog({ coordinator, workers: {} }) });
  onTestFinished(async () => {
    await runtime.close();
    await home.remove();
  });
  const agent = await runtime.create({ goal: "Choose a colour", model: "scripted/coordinator" });
  await until(agent, (now) => now.agent.status === "waiting_for_human");
  return { agent, disk, runtime };
}

function fillable(state: { isFull: boolean; isOutOfFiles: boolean; cannotRead: boolean }): Disk {
  const noFile = () => Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  const full = () => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  return {
    ...nodeDisk,
    room: () => (state.isFull ? 0 : Number.POSITIVE_INFINITY),
    open(path, how) {
      if (how === "read" ? state.cannotRead : state.isOutOfFiles) throw noFile();
      const file = nodeDisk.open(path, how);
      if (how !== "journal") return file;
      const writeThrough = file.writeThrough.bind(file);
      file.writeThrough = (bytes, at, done) => (state.isFull ? done(full()) : writeThrough(bytes, at, done));
      return file;
    },
  };
}
