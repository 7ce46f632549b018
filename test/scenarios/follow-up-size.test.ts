import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { configFor, PROVIDERS } from "./over-the-wire.ts";

/**
 * Issue 15: a follow-up that needs memory, two goals, in at most 60 % of the 25,635 tokens (bytes / 4) that it cost before
 * the texts were shortened. Played and replayed in `docs/decisions/prompts.md`; these are the replies of the replay.
 */
const MOST = 0.6 * 25_635;

const GOALS = [
  "Compute the revenue of each region in project/sales-q1.csv (units times price) and write it to output/q1.md. For this and all later reports: whole euros, the best region first, the share of the total in percent.",
  "Now the same for project/sales-q2.csv, in output/q2.md, the way I like it, with the change of the total since the first quarter.",
] as const;
const SANDBOX =
  "Commands run in a sandbox (bash, no network): Debian GNU/Linux 12 (bookworm); Python 3.11.2 with yaml; Node 20.20.2; git 2.39.5.";

test.skipIf(skipped)(`a follow-up that needs memory stays within its budget ${skipped}`, async () => {
  await using home = await temporaryHome();
  const project = join(home.path, "project");
  await mkdir(project);
  for (const quarter of ["q1", "q2"]) await writeFile(join(project, `sales-${quarter}.csv`), SALES);
  await using provider = await startProviderServer({ turns: [look("q1"), FIRST, look("q2"), SECOND] });
  const [{ model }] = PROVIDERS;
  const settings = { home: join(home.path, "agiraph"), env: provider.env, config: configFor(provider) };
  const runtime = await openRuntime(settings, { machine: async () => ({ loop: SANDBOX, program: SANDBOX }) });
  await using _closing = { [Symbol.asyncDispose]: () => runtime.close() };
  const agent = await runtime.create({ goal: GOALS[0], model, project });
  await agent.idle();
  await agent.send(GOALS[1]);
  await agent.idle();
  provider.assertDone();
  expect(agent.now.agent).toMatchObject({ status: "completed", runs: 2 });

  const sizes = provider.requests.map(({ body }) => Math.round(Buffer.byteLength(JSON.stringify(body)) / 4));
  const together = sizes.reduce((sum, size) => sum + size, 0);
  expect(together, `requests of ${sizes.join(", ")} tokens`).toBeLessThanOrEqual(MOST);
  expect(provider.requests[2]?.system).toContain("My human wants whole euros");
});

const rows = Array.from({ length: 60 }, (_, at) => {
  const region = ["north", "south", "west"][at % 3];
  return `2026-01-${String((at % 28) + 1).padStart(2, "0")},${region},kettle,${(at % 40) + 1},19.9`;
});
const SALES = `date,region,product,units,price\n${rows.join("\n")}\n`;

function look(quarter: string) {
  const file = `project/sales-${quarter}.csv`;
  const command = `head -3 ${file}; awk -F, 'NR>1{r[$2]+=$4*$5;t+=$4*$5} END{for(k in r) printf "%s %.2f %.1f\\n",k,r[k],100*r[k]/t; printf "total %.2f\\n",t}' ${file} | sort -k2 -nr`;
  return { calls: [{ name: "bash", args: { command } }] };
}

const FIRST = {
  calls: [
    {
      name: "write_file",
      args: {
        path: "output/q1.md",
        content:
          "| region | revenue (€) | share |\n|---|---|---|\n| west | 60,267 | 48.2 % |\n| north | 33,022 | 26.4 % |\n| south | 31,723 | 25.4 % |\n| total | 125,012 | 100.0 % |\n",
      },
    },
    {
      name: "memory_write",
      args: {
        path: "MEMORY.md",
        content:
          "## Revenue reports\n\nMy human wants whole euros, the best region first, and the share of the total in percent.\nQ1 total: 125,012 (agent/runs/run-1/output/q1.md).",
      },
    },
    {
      name: "finish",
      args: {
        summary:
          "Q1 revenue is 125,012 €: west 60,267 (48.2 %), north 33,022 (26.4 %), south 31,723 (25.4 %). The table is in output/q1.md.",
        files: ["output/q1.md"],
        learned:
          "awk -F, computes units times price by region in one command; columns: date, region, product, units, price.",
      },
    },
  ],
};

const SECOND = {
  calls: [
    {
      name: "write_file",
      args: {
        path: "output/q2.md",
        content:
          "| region | revenue (€) | share |\n|---|---|---|\n| south | 38,493 | 41.8 % |\n| west | 29,384 | 31.9 % |\n| north | 24,295 | 26.4 % |\n| total | 92,172 | 100.0 % |\n\nThe total has changed from 125,012 € to 92,172 €: -26.3 %.\n",
      },
    },
    {
      name: "finish",
      args: {
        summary:
          "Q2 revenue is 92,172 €, -26.3 % against Q1: south 38,493 (41.8 %), west 29,384 (31.9 %), north 24,295 (26.4 %). The table is in output/q2.md.",
        files: ["output/q2.md"],
      },
    },
  ],
};
