import { join } from "node:path";
import { expect, test } from "vitest";
import { startProviderServer } from "../../testing/provider-server.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { agiraph } from "../testing/cli-process.ts";

test("a run that ends with failed nodes names them in its last line and on its page, done or not", async () => {
  const folder = await temporaryHome();
  await using provider = await startProviderServer({
    turns: {
      Which: [
        {
          calls: [
            { name: "create_work_node", args: { task: "Measure chip A" } },
            { name: "create_work_node", args: { task: "Guess chip B" } },
          ],
        },
        { text: "I wait." },
        // As often as there is news, and once more when it is asked.
        ...Array.from({ length: 4 }, () => ({ text: "It is A, I think." })),
      ],
      Measure: [{ fault: { status: 401, message: "bad key" } }, { fault: { status: 401, message: "bad key" } }],
      Guess: [
        { calls: [{ name: "write_file", args: { path: "scratch/b.md", content: "70" } }] },
        { calls: [{ name: "publish", args: { summary: "B: 70" } }] },
      ],
    },
  });
  await using mended = await startProviderServer({
    // Whichever turn it is by then.
    turns: Array.from({ length: 8 }, () => ({
      calls: [{ name: "finish", args: { summary: "A; nobody measured it." } }],
    })),
  });
  const call = (words: string[], { env } = provider) =>
    agiraph(words, { folder: folder.path, env: { ...env, AGIRAPH_HOME: join(folder.path, "home") } });

  const ran = await call(["run", "Which chip is faster?", "--model", "ollama/test"]);
  expect({ code: ran.code, end: ran.stderr.split("\n").slice(-4, -2) }).toEqual({
    code: 1,
    end: [
      "✗ chip-faster failed: The coordinator never finished, and node-1 failed. Its last words: It is A, I think.",
      "  1 of 2 nodes failed: node-1 (Alice).",
    ],
  });
  const resumed = await call(["resume", "chip"], mended);
  expect({ code: resumed.code, end: resumed.stderr.split("\n").at(-2) }).toEqual({
    code: 0,
    end: expect.stringMatching(
      /^✓ chip-faster has finished, but 1 of 2 nodes failed: node-1 \(Alice\): \d+ model calls?, /,
    ),
  });
  expect((await call(["show", "chip"])).stdout).toContain(
    "Board: 1 of 2 nodes completed; 1 of 2 nodes failed: node-1 (Alice)\n",
  );
  await folder.remove();
});
