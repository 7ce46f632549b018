import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSandbox } from "../../src/sandbox/index.ts";
import { startProviderServer } from "../../src/testing/index.ts";
import { configFor, PROVIDERS, runToItsEnd } from "./over-the-wire.ts";

/** Seed 002 §11, test 2: multi-turn with tools. The public API is one of ours; the sandbox is allowed to reach it. */
const GOAL =
  "Create a Python script that fetches the current Bitcoin price from a public API, and run it to verify it works.";
const sandbox = await openSandbox({});

test.skipIf(sandbox.kind === "none").each(PROVIDERS)(
  "an agent writes a script, runs it, mends it and reports the price over $name (needs a sandbox)",
  async ({ model }) => {
    await using exchange = await priceServer(68_123.45);
    const broken = `import urllib.request\nprint(jsn.loads(urllib.request.urlopen("${exchange.url}").read())["price"])\n`;
    const mended = broken.replace("import urllib.request", "import json, urllib.request").replace("jsn", "json");
    const write = (content: string) => ({ calls: [{ name: "write_file", args: { path: "btc_price.py", content } }] });
    const run = { calls: [{ name: "bash", args: { command: "python3 btc_price.py" } }] };
    await using provider = await startProviderServer({
      turns: [
        write(broken),
        run,
        { text: "A name is wrong; mending it.", ...write(mended) },
        run,
        { calls: [{ name: "read_file", args: { path: "btc_price.py" } }] },
        { calls: [{ name: "finish", args: { summary: "The script works: Bitcoin is at $68123.45." } }] },
      ],
    });
    const config = configFor(provider, { network: { allow: [exchange.host] } });
    const order = {
      goal: GOAL,
      model,
      tools: ["bash", "write_file", "read_file", "finish"],
      env: { ...provider.env },
      config,
    };
    await runToItsEnd(order, async (told) => {
      // workspace/ contains a .py file
      expect((await readdir(told.run)).filter((name) => name.endsWith(".py"))).toEqual(["btc_price.py"]);
      expect(await readFile(join(told.run, "btc_price.py"), "utf8")).toBe(mended);
      // bash was called at least once; the agent handled the error by iterating
      const runs = told.conversation.flatMap((entry) =>
        entry.role === "tool" && entry.tool === "bash" ? [entry.content] : [],
      );
      expect(runs.length).toBe(2);
      expect(runs[0]).toContain("NameError");
      expect(runs[1]).toContain("68123.45");
      // Final result includes a price number
      expect(told.summary).toMatch(/\$\d+\.\d\d/);
      expect(told.statuses).toEqual(["idle", "working", "completed"]);
    });
    provider.assertDone();
    expect(exchange.visits()).toBe(1);
  },
);

test.skipIf(sandbox.kind === "none")(
  "with default settings commands have no network: the model is told before and by the failure (needs a sandbox)",
  async () => {
    await using exchange = await priceServer(1);
    const command = `python3 -c 'import urllib.request as r; r.urlopen("${exchange.url}", timeout=5)'`;
    const summary = "It needs the network: allow the host with network.allow in config.json.";
    await using provider = await startProviderServer({
      turns: [{ calls: [{ name: "bash", args: { command } }] }, { calls: [{ name: "finish", args: { summary } }] }],
    });
    const model = "openai-compatible/local/small";
    const order = {
      goal: GOAL,
      model,
      tools: ["bash", "finish"],
      env: { ...provider.env },
      config: configFor(provider),
    };
    await runToItsEnd(order, async ({ conversation }) => {
      const runs = conversation.filter((entry) => entry.role === "tool" && entry.tool === "bash");
      expect(runs).toMatchObject([{ ok: false, content: expect.stringContaining("URLError") }]);
    });
    expect(JSON.stringify(provider.requests[0]?.body)).toContain("No network.");
    expect(exchange.visits()).toBe(0);
  },
);

async function priceServer(price: number) {
  let visits = 0;
  const server = createServer((_, response) => {
    visits += 1;
    response.end(JSON.stringify({ price }));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}/price`,
    visits: () => visits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
