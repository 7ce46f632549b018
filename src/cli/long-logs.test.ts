import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryHome } from "../testing/index.ts";
import { writeLongLog } from "../testing/long-log.ts";
import { agiraph } from "./testing/cli-process.ts";

test("ls lists agents whose logs are too long to be read for it, and says what it does not know", async () => {
  const folder = await temporaryHome();
  onTestFinished(() => folder.remove());
  const home = join(folder.path, "home");
  // Each has 1.3 MB: the last ones are beyond what a list reads.
  for (let i = 10; i < 25; i++) await writeLongLog(home, `agent-aa${i}`);
  const call = (...words: string[]) => agiraph(words, { folder: folder.path, env: { AGIRAPH_HOME: home } });
  const [text, json] = await Promise.all([call("ls"), call("ls", "--json")]);
  const rows = json.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const unread = rows.filter(({ loading }) => loading);
  expect(rows.map(({ name, status }) => [name, status])).toEqual(Array.from(rows, () => ["long", "interrupted"]));
  expect([rows.length, rows.find(({ loading }) => !loading)?.cost_usd]).toEqual([15, expect.closeTo(3)]);
  expect(unread.length).toBeGreaterThan(0);
  expect(text.stderr).toContain(`The long records of ${unread.length} agents were not read for this list`);
  expect(text.stdout.split("\n").filter((line) => line.includes(" ? "))).toHaveLength(unread.length);
});
