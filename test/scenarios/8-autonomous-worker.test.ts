import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { call, type ProviderTurn, script, startProviderServer, startTeam } from "../../src/testing/index.ts";
import {
  CLAUDE,
  claudeHouse,
  claudeProfile,
  isWork,
  ours,
  shell,
  withClaude,
  wordsOf,
} from "../outside/real-claude.ts";

/** Seed 002 §11, test 8: the real Claude Code as a worker, by its own protocol and, as the seed has it, by files alone. */
const GOAL = "Write a Python CLI tool that converts CSV to JSON.";
const TOOL = `import csv, json, sys
print(json.dumps(list(csv.DictReader(sys.stdin))))
`;
const WRITE = `cat > csv2json.py <<'END'\n${TOOL}END`;
const TRY = "printf 'a,b\\n1,2\\n' | python3 csv2json.py";
const RESULT = "csv2json.py reads CSV from stdin and writes JSON to stdout.";
const WORKS = '[{"a": "1", "b": "2"}]';
const LONG = { timeout: 120_000 };

function leading(program: string) {
  return script(
    call("spawn_worker", { name: "Clara", program }),
    call("create_work_node", { task: GOAL, deliverables: ["csv2json.py"], worker: "Clara" }),
    call("read_file", { path: "nodes/node-1/published/csv2json.py" }).after("node-1 completed by Clara"),
    // The bonus: it runs what was made.
    call("bash", { command: "printf 'a,b\\n1,2\\n' | python3 nodes/node-1/published/csv2json.py" }).after("DictReader"),
    call("finish", { summary: "csv2json.py works." }).after(WORKS),
  );
}

/** It writes the code, tries it, and goes on only if it works. */
function coder(end: ProviderTurn) {
  return startProviderServer({
    respond: (request) => {
      if (!isWork(request)) return { text: "ok" };
      const steps = [shell(WRITE), shell(TRY), wordsOf(request).includes(WORKS) ? end : { text: "It is broken." }];
      return steps[request.turn] ?? { text: "I have nothing more to do." };
    },
  });
}

async function play(programs: Record<string, ProgramProfile>, name: string, url: string, resultFile: string) {
  const { env } = claudeHouse(url);
  await using team = await startTeam({ goal: GOAL, coordinator: leading(name), config: { programs }, env });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "csv2json.py works." });
  const facts = await team.facts();
  const node = join(team.agent.log.dir, "runs/run-1/nodes/node-1");
  // Claude Code process was launched
  const started = facts.filter((fact) => fact.type === "process.started" && fact.data.worker_id === "clara");
  expect(started).toMatchObject([{ data: { command: expect.stringContaining(CLAUDE), sandbox: "bubblewrap" } }]);
  // workspace/{node_id}/ contains Python files
  expect(await readFile(join(node, "published/csv2json.py"), "utf8")).toBe(TOOL);
  // _result.md exists with completion summary
  expect((await readFile(join(node, resultFile), "utf8")).trim()).toBe(RESULT);
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: RESULT });
}

withClaude("Claude Code writes a tool, tries it and publishes it by our door", LONG, async () => {
  const publishes = ours("publish", { summary: RESULT });
  const both: ProviderTurn = {
    calls: [...(shell(`echo '${RESULT}' > _result.md`).calls ?? []), ...(publishes.calls ?? [])],
  };
  await using provider = await coder(both);
  await play({ "claude-code": claudeProfile(provider.url) }, "claude-code", provider.url, "published/_result.md");
});

withClaude(
  "Claude Code gets its task by its arguments and answers with _result.md, knowing nothing of us",
  LONG,
  async () => {
    await using provider = await coder(shell(`echo '${RESULT}' > _result.md`));
    const words = ["-p", "Do what _task.md says. Write _result.md when it is done.", "--allowedTools", "Bash"];
    const plain = claudeProfile(provider.url, { kind: "autonomous", command: [CLAUDE, ...words] });
    await play({ plain }, "plain", provider.url, "protocol/_result.md");
  },
);
