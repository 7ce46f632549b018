import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inSandbox, skipped, whole } from "../../../test/try-sandbox.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { DiskWatch, overBound } from "./disk-use.ts";
import { defaultLimits } from "./limits.ts";

const MB = 2 ** 20;
const heldMB = (folder: string) => Number(execFileSync("du", ["-sm", folder], { encoding: "utf8" }).split("\t")[0]);

describe.each([
  { kind: "confined", unsafe: false },
  { kind: "unconfined", unsafe: true },
])("many short $kind commands", ({ unsafe }) => {
  test.skipIf(!unsafe && skipped)(
    `together stay within the bound; over it they can remove but not write, and are told so ${unsafe ? "" : skipped}`,
    async () => {
      const { run, file } = await inSandbox({ unsafe, limits: { diskBytes: 4 * MB } });
      const ends: { code: number | null; exceeded: string | null }[] = [];
      for (let i = 0; i < 12; i++) ends.push(await run(`head -c ${MB} /dev/zero > f${i}`));
      // What others free on the disk may hide what was written, but not for longer than eight commands.
      expect(heldMB(file(""))).toBeLessThanOrEqual(4 + 8 + 1);
      expect(ends.at(-1)).toMatchObject({ code: 153, exceeded: "disk" });
      expect(await run("echo fine; rm f*")).toMatchObject({ code: 0, output: "fine\n", exceeded: null });
      expect(await run("echo again > f; cat f")).toMatchObject({ code: 0, output: "again\n", exceeded: null });
    },
  );

  test.skipIf((!unsafe && skipped) || process.platform !== "linux")("are bounded in files too", async () => {
    const { run } = await inSandbox({ unsafe, limits: { files: 50 } });
    const ends: (string | null)[] = [];
    // A count that took long, on a busy machine, holds for more than eight commands.
    for (let i = 0; i < 12 || (i < 60 && ends.at(-1) === null); i++)
      ends.push((await run(`for n in 1 2 3 4 5 6 7 8; do : > ${i}-$n; done`)).exceeded);
    expect(ends.at(-1)).toBe("files");
    expect((await run("rm -- *")).exceeded).toBe(null);
  });
});

test.skipIf(skipped)(`a program does not start in folders that hold more than they may ${skipped}`, async () => {
  const { run, start } = await inSandbox({ limits: { diskBytes: 4 * MB } });
  await run(`head -c ${6 * MB} /dev/zero > big`);
  await expect(start("echo hello")).rejects.toThrow("hold more than");
  await run("rm big");
  expect((await whole(await start("echo hello"))).out).toBe("hello\n");
});

test.skipIf(process.platform !== "linux")(
  "DISK-3: where `du` cannot even be started, what was lost of the free space counts, and nothing fails",
  async () => {
    await using home = await temporaryHome();
    // More than are counted without it.
    for (let i = 0; i < 300; i++) writeFileSync(join(home.path, `${i}`), "");
    // More than the kernel takes in one argument.
    const hide = [join(home.path, "x".repeat(200_000))];
    const { signal } = new AbortController();
    const binds = { write: [home.path], hide };
    expect(await overBound(binds, { ...defaultLimits, diskBytes: 1 }, { at: "end", signal })).toBe(null);
  },
);

test("nobody is charged with what others keep in a folder inside that it may not write", async () => {
  await using home = await temporaryHome();
  const [run, others] = [join(home.path, "a run [1]"), join(home.path, "a run [1]", "nodes")];
  mkdirSync(others, { recursive: true });
  writeFileSync(join(others, "large"), Buffer.alloc(6 * MB));
  const limits = { ...defaultLimits, diskBytes: 4 * MB };
  const look = { at: "start", signal: new AbortController().signal } as const;
  expect(await overBound({ write: [run], read: [others] }, limits, look)).toBe(
    process.platform === "linux" ? null : "disk",
  );
  expect(await overBound({ write: [others] }, limits, look)).toBe("disk");
});

test("what others free on the disk meanwhile does not hide what a command takes (DISK-6)", async () => {
  await using home = await temporaryHome();
  const [desk, others] = [join(home.path, "desk"), join(home.path, "others")];
  mkdirSync(desk, { recursive: true });
  writeFileSync(others, Buffer.alloc(64 * MB));
  const watch = new DiskWatch({ write: [desk] }, { ...defaultLimits, diskBytes: 4 * MB });
  await watch.isOver();
  rmSync(others);
  writeFileSync(join(desk, "large"), Buffer.alloc(6 * MB));
  const looks = [];
  for (let look = 2; look <= 8; look++) looks.push(await watch.isOver());
  expect(looks.at(-1)).toBe("disk");
});

test("what writes nowhere is charged with nothing, however long it runs, and whatever is in the folder that we work in", async () => {
  const limits = { ...defaultLimits, diskBytes: 1, files: 1 };
  const watch = new DiskWatch({ write: [] }, limits);
  const looks = [];
  for (let look = 1; look <= 8; look++) looks.push(await watch.isOver());
  expect(looks).toEqual(Array(8).fill(null));
  expect(await overBound({ write: [] }, limits, { at: "end", signal: new AbortController().signal })).toBe(null);
});
