import { join } from "node:path";
import { expect, test } from "vitest";
import { failureId } from "../projections/index.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { agiraph } from "./testing/cli-process.ts";

test("a mesh's task that failed is in the inbox with what to do, until it is marked as seen", async () => {
  const folder = await temporaryHome();
  const home = join(folder.path, "home");
  const runtime = await openRuntime({ home, env: {}, config: {} });
  const record = await runtime.meshRecord(folder.path);
  const failed_task = { mesh: "review", agent: "fixer", name: "1-mend-it.md" };
  const data = { message_id: failureId(failed_task), from: "review-fixer", to: "human", file: "f", hops: 1 };
  const text = "review/fixer could not do “Mend it”: there is no ink.";
  await record.log.append({ facts: [{ type: "message.sent", data: { ...data, text, failed_task } }] }).durable;
  await runtime.close();

  const call = (...words: string[]) => agiraph(words, { folder: folder.path, env: { AGIRAPH_HOME: home } });
  const [first, ...more] = (await call("inbox")).stdout.trimEnd().split("\n");
  expect(first).toMatch(/^✗ mesh: \S+ · failed · failed:review\/fixer:1-mend-it · \d+s ago$/);
  expect(more).toEqual([
    `  ${text}`,
    '  tx send review/fixer "the task, again"',
    `  in ${folder.path}; seen: agiraph inbox --mark-read`,
  ]);
  expect((await call("inbox", "--mark-read")).stderr).toBe("1 message read.\n");
  expect((await call("inbox")).stderr).toBe("Nothing waits for you.\n");
  await folder.remove();
});
