import { expect, test } from "vitest";
import { nodeDisk } from "../store/disk/node-disk.ts";
import { OpenFiles } from "../store/journal/open-files.ts";
import { LogStream } from "../store/journal/stream.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { EngineWriter } from "./engine-writer.ts";
import { FencedError, type StreamPart } from "./streams.ts";

const TREE = "agents/agent-abcd2345";

/** An engine that does as the test says with each write: commits it or not, and answers or breaks off. */
async function written(plays: readonly ("commits" | "commits, breaks off" | "breaks off")[], isOurs = () => true) {
  await using home = await temporaryHome();
  const stored = new Map<string, string>();
  const sent: StreamPart[][] = [];
  const failures: Error[] = [];
  const writer = new EngineWriter({
    tree: TREE,
    files: new OpenFiles(nodeDisk, home.path),
    async add(parts) {
      const play = plays[sent.length];
      sent.push([...parts]);
      if (play !== "breaks off")
        for (const { path, at, bytes } of parts) {
          const before = stored.get(path) ?? "";
          if (before.length !== at) throw new FencedError(TREE);
          stored.set(path, before + Buffer.from(bytes).toString());
        }
      if (play !== "commits") throw new Error("the connection broke");
    },
    ends: async (paths) => new Map(paths.map((path) => [path, stored.get(path)?.length ?? 0])),
    pause: async () => {},
    isOurs,
    onFailure: (error) => failures.push(error),
  });
  const stream = new LogStream(`${TREE}/events.jsonl`, 0, 0);
  const append = (seq: number) =>
    new Promise<void>((resolve, reject) => {
      stream.seq = seq;
      writer.queue(stream, `{"seq":${seq},"v":1`);
      writer.writeQueue({ facts: [], onDisk: () => {}, resolve, reject });
    });
  const outcome = await append(1).then(
    () => append(2).then(() => "acknowledged"),
    (error: Error) => error.name,
  );
  const lines = (stored.get("events.jsonl") ?? "").split("\n").filter(Boolean);
  return { outcome, sent: sent.length, failures: failures.length, seqs: lines.map((line) => JSON.parse(line).seq) };
}

test("ENGINE-WRITER-3: what arrived although the connection broke is not sent again", async () => {
  expect(await written(["commits, breaks off", "commits"])).toEqual({
    ...{ outcome: "acknowledged", sent: 2, failures: 0, seqs: [1, 2] },
  });
});

test("ENGINE-WRITER-3: what did not arrive is sent again, as often as it takes", async () => {
  expect(await written(["breaks off", "breaks off", "commits", "breaks off", "commits"])).toEqual({
    ...{ outcome: "acknowledged", sent: 5, failures: 0, seqs: [1, 2] },
  });
});

test("ENGINE-WRITER-4: once it is another host's, nothing is tried any more", async () => {
  let tries = 0;
  expect(await written(["breaks off"], () => tries++ === 0)).toEqual({
    ...{ outcome: "FencedError", sent: 1, failures: 1, seqs: [] },
  });
});
