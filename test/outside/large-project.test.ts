import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test as plainTest } from "vitest";
import {
  call,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
  temporaryHome,
} from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/*
 * Each program on a large project: all of it is seen, and one node after the other takes no longer to begin. With
 * AGIRAPH_PROJECT_FOLDERS=5000 there are 100,000 files; how long nodes took to begin, and the memory, are printed.
 */

const FOLDERS = Number(process.env.AGIRAPH_PROJECT_FOLDERS ?? 200);
const FILES_IN_EACH = 20;
const NODES = 3;
const TASK = "Write it down.";

let project: Awaited<ReturnType<typeof temporaryHome>>;
beforeAll(async () => {
  project = await temporaryHome();
  makeProject(project.path);
}, 600_000);
afterAll(() => project[Symbol.asyncDispose](), 600_000);

function makeProject(root: string): void {
  for (let at = 0; at < FOLDERS; at++) {
    const folder = join(root, `part-${at % 50}`, `module-${at}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < FILES_IN_EACH; file++)
      writeFileSync(join(folder, `file-${file}.ts`), `export const value = ${at * file};\n`);
  }
}

for (const name of [...Object.keys(realPrograms), "plain"]) {
  const program = Object.entries(realPrograms).find(([each]) => each === name)?.[1];
  const test = program ? whenInstalled(...program.files) : skipped ? plainTest.skip : plainTest;

  test(`${name} on a project of ${FOLDERS * FILES_IN_EACH} files`, { timeout: 300_000 }, async () => {
    const command = `find ${project.path} -type f | wc -l > count.md; cat ${project.path}/part-*/module-*/file-7.ts | wc -l >> count.md`;
    const turns: ProviderTurn[] = program
      ? [program.shell(command), program.ours("publish", { summary: "It is written." })]
      : [];
    const figures: string[] = [];
    let began = 0;
    await using provider = await startProviderServer({
      respond: ({ body, messages }) => {
        if (!JSON.stringify(body).includes(TASK)) return { text: "A title" };
        const made = messages.flatMap((each) => (each.role === "assistant" ? each.calls : [])).length;
        if (made === 0) figures.push(`asked after ${Math.round(performance.now() - began)} ms`);
        if (made === 1) figures.push(`largest process ${largestProcess()} MiB`);
        return turns[made] ?? { text: "Done." };
      },
    });
    const create = () => call("create_work_node", { task: TASK, worker: "Cody", deliverables: ["count.md"] });
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("spawn_worker", { name: "Cody", program: name, ...(program?.model && { model: program.model }) }),
        create(),
        create().after("node-1 completed"),
        create().after("node-2 completed"),
        call("finish", { summary: "done" }).after("node-3 completed"),
      ),
      project: project.path,
      env: { PATH: process.env.PATH },
      config: {
        programs: {
          [name]: program?.profile(provider.url) ?? {
            kind: "autonomous",
            command: ["bash", "-c", `${command}; echo done > _result.md`],
          },
        },
      },
    });
    const omitted: unknown[] = [];
    team.agent.log.subscribe((fact) => {
      if (fact.type === "node.created") began = performance.now();
      if (fact.type !== "process.started") return;
      figures.push(`started after ${Math.round(performance.now() - began)} ms`);
      if (fact.data.omitted) omitted.push(fact.data.omitted);
      figures.push(`we ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`);
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    console.log(`${name}: ${figures.join(", ")}`);
    expect(omitted).toEqual([]);
    for (let node = 1; node <= NODES; node++) {
      const counted = join(team.agent.log.dir, `runs/run-1/nodes/node-${node}/published/count.md`);
      expect(await readFile(counted, "utf8")).toBe(`${FOLDERS * FILES_IN_EACH}\n${FOLDERS}\n`);
    }
  });
}

/** The resident memory of the largest process below us, in MiB. */
function largestProcess(): number {
  const parents = new Map<number, number>();
  for (const pid of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const stat = textOf(`/proc/${pid}/stat`);
    parents.set(Number(pid), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  const isBelowUs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === process.pid || (parent !== undefined && parent > 1 && isBelowUs(parent));
  };
  const sizes = [...parents.keys()].filter(isBelowUs).map((pid) => {
    return Number(/VmRSS:\s+(\d+)/.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
  });
  return Math.round(Math.max(0, ...sizes));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
