import { expect, test } from "vitest";
import type { NewFact } from "../../protocol/index.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import type { Disk } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { openStore } from "../open-store.ts";

const clock = { now: () => 1_700_000_000_000 };
const paused: NewFact = { type: "agent.paused", data: {} };

test("JOURNAL-3. where no file can be opened, what was half written is taken back, and the next is taken", async () => {
  await using home = await temporaryHome();
  const state = { isOut: false };
  const store = await openStore({ root: home.path, clock, disk: lacking(state) });
  const open = await store.create("agent-open");
  await open.append({ facts: [paused] }).durable;
  const other = await store.create("agent-other");
  const both = () => Promise.allSettled([open, other].map((log) => log.append({ facts: [paused] }).durable));

  state.isOut = true;
  const refused = await both();
  expect(refused.map((each) => each.status === "rejected" && each.reason.name)).toEqual([
    "TooManyFilesError",
    "TooManyFilesError",
  ]);
  expect([open.seq, other.seq]).toEqual([1, 0]);

  state.isOut = false;
  expect((await both()).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  const read = async (log: typeof open) => (await log.read({ after: 0, limit: 10 })).map(({ seq }) => seq);
  expect([await read(open), await read(other)]).toEqual([[1, 2], [1]]);
  await store.close();
});

test("a home can be closed all the same: its journal stays, and whoever opens it next finds everything", async () => {
  await using home = await temporaryHome();
  const state = { isOut: false };
  const store = await openStore({ root: home.path, clock, disk: lacking(state) });
  const log = await store.create("agent-open");
  await log.append({ facts: [paused] }).durable;
  state.isOut = true;
  await store.close();

  const again = await openStore({ root: home.path, clock });
  expect(await (await again.open("agent-open")).read({ after: 0, limit: 10 })).toMatchObject([{ seq: 1 }]);
  expect(again.repairs).toEqual([]);
  await again.close();
});

/** As when the machine has as many files open as it may: what is open stays so, and nothing more is opened. */
function lacking(state: { isOut: boolean }): Disk {
  const need = () => {
    if (state.isOut) throw Object.assign(new Error("ENFILE: file table overflow"), { code: "ENFILE" });
  };
  return {
    ...nodeDisk,
    open(path, how) {
      if (how === "write") need();
      return nodeDisk.open(path, how);
    },
    async syncDir(path) {
      need();
      await nodeDisk.syncDir(path);
    },
  };
}
