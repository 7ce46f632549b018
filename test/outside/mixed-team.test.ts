import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import type { FactOf } from "../../src/protocol/index.ts";
import {
  both,
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
} from "../../src/testing/index.ts";
import { whenInstalled } from "./installed.ts";
import { acpProfile, realAgents } from "./real-acp.ts";
import { claudeProfile, isWork, ours, shell, withClaude, wordsOf } from "./real-claude.ts";

/**
 * Seed 000, phase 3: a team of every kind that works together by messages. Each of the five adds its own name to what
 * the one before it sent, and passes it on: two models in our loop, Claude Code, Codex over ACP, and a shell script that
 * knows nothing but files. The last one hands it to the first, who reports it.
 */
const withCodex = whenInstalled(...realAgents.codex.files);
const withBoth = withClaude === test && withCodex === test ? test : test.skip;

const PLAIN = `until grep -q 'Ann Ben Clara Cody' _inbox.md; do sleep 0.05; done
printf 'TO: Ann\\nAnn Ben Clara Cody Paul\\n---\\n' >> _outbox.md
echo 'Ann Ben Clara Cody Paul' > paul.md; echo 'Passed on.' > _result.md`;

function programs(url: string): Config["programs"] {
  return {
    "claude-code": claudeProfile(url),
    codex: acpProfile("codex", url),
    plain: { kind: "autonomous", command: ["bash", "-c", PLAIN] },
  };
}

/** Waits for the word of the one before, writes it down with its own name, passes it on and publishes. */
function clara(request: ProviderRequest): ProviderTurn {
  if (!isWork(request)) return { text: "ok" };
  if (!wordsOf(request).includes("[Message from Ben]: Ann Ben")) return WAITS[request.turn] ?? { text: "I wait." };
  const done = new Set(
    request.messages.flatMap((each) => (each.role === "assistant" ? each.calls.map(({ name }) => name) : [])),
  );
  if (!done.has("Bash")) return shell("echo 'Ann Ben Clara' > clara.md");
  if (!done.has("mcp__agiraph__send_message")) return ours("send_message", { to: "Cody", content: "Ann Ben Clara" });
  return ours("publish", { summary: "Passed on." });
}
const WAITS = [ours("check_messages", { wait: true })];

function cody(request: ProviderRequest): ProviderTurn {
  const words = wordsOf(request);
  const use = (name: string, args: unknown): ProviderTurn => ({ calls: [{ name: `mcp__agiraph/${name}`, args }] });
  if (!words.includes("[Message from Clara]: Ann Ben Clara")) return { text: "I wait." };
  const done = request.messages.flatMap((each) => (each.role === "assistant" ? each.calls : [])).length;
  const steps = [
    { calls: [{ name: "exec_command", args: { cmd: "echo 'Ann Ben Clara Cody' > cody.md" } }] },
    use("send_message", { to: "Paul", content: "Ann Ben Clara Cody" }),
    use("publish", { summary: "Passed on." }),
  ];
  return steps[done] ?? { text: "Done." };
}

withBoth(
  "models, Claude Code, Codex and a shell script pass a word from one to the next",
  { timeout: 120_000 },
  async () => {
    await using provider = await startProviderServer({
      respond: (request) => (request.api === "anthropic" ? clara(request) : cody(request)),
    });
    const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
    const hire = (name: string, program?: string) => call("spawn_worker", { name, ...(program && { program }) });
    const people = ["Ann", "Ben", "Clara", "Cody", "Paul"];
    await using team = await startTeam({
      goal: "Pass it on.",
      env: { PATH: process.env.PATH },
      config: { programs: programs(provider.url), max_concurrent: 5 },
      coordinator: script(
        both(hire("Ann"), hire("Ben"), hire("Clara", "claude-code"), hire("Cody", "codex"), hire("Paul", "plain")),
        both(
          ...people.map((worker) =>
            call("create_work_node", { worker, task: "Pass it on.", deliverables: [`${worker.toLowerCase()}.md`] }),
          ),
        ),
        call("finish", { summary: "It came round." }).after(...people.map((name) => `completed by ${name}`)),
      ),
      workers: {
        Ann: script(
          call("send_message", { to: "Ben", content: "Ann" }),
          // Before Paul writes she hears that Ben, Clara and perhaps Cody have published.
          ...Array.from({ length: 4 }, () => call("check_messages", { wait: true })),
          written("ann.md", "Ann Ben Clara Cody Paul\n").after("[Message from Paul]: Ann Ben Clara Cody Paul"),
          call("publish", { summary: "It came round." }),
        ),
        Ben: script(
          call("check_messages", { wait: true }),
          call("send_message", { to: "Clara", content: "Ann Ben" }).after("[Message from Ann]: Ann"),
          written("ben.md", "Ann Ben\n"),
          call("publish", { summary: "Passed on." }),
        ),
      },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "It came round." });
    expect(Object.values(team.agent.now.roster).map(({ spawned }) => [spawned.name, spawned.kind])).toEqual([
      ["Coordinator", "harnessed"],
      ["Ann", "harnessed"],
      ["Ben", "harnessed"],
      ["Clara", "claude_code"],
      ["Cody", "acp"],
      ["Paul", "autonomous"],
    ]);
    const sent = (await team.facts()).filter((fact): fact is FactOf<"message.sent"> => fact.type === "message.sent");
    expect(sent.map(({ data: { from, to, text } }) => `${from} → ${to}: ${text}`)).toEqual([
      "ann → ben: Ann",
      "ben → clara: Ann Ben",
      "clara → cody: Ann Ben Clara",
      "cody → paul: Ann Ben Clara Cody",
      "paul → ann: Ann Ben Clara Cody Paul",
    ]);
    const published = await Promise.all(
      people.map((name, at) =>
        readFile(
          join(team.agent.log.dir, `runs/run-1/nodes/node-${at + 1}/published/${name.toLowerCase()}.md`),
          "utf8",
        ),
      ),
    );
    const all = "Ann Ben Clara Cody Paul\n";
    expect(published).toEqual([all, "Ann Ben\n", "Ann Ben Clara\n", "Ann Ben Clara Cody\n", all]);
  },
);
