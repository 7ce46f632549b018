import { expect, test } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import {
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
} from "../../src/testing/index.ts";
import { installed, whenInstalled } from "./installed.ts";

/**
 * Seed 000, phase 3: two models, Claude Code, an ACP agent and a plain program are one team. Each of the three programs
 * is told something by a colleague and answers with it in what it publishes; none of them knows what the others are.
 */
const CLAUDE = installed("claude", ".bin/claude");
const CODEX_FILE = "@agentclientprotocol/codex-acp/dist/index.js";
const CODEX = installed("acp", CODEX_FILE);
const isThere = [whenInstalled("claude", ".bin/claude"), whenInstalled("acp", CODEX_FILE)].every(
  (each) => each === test,
);
const whenBoth = isThere ? test : test.skip;

const codexConfig = (url: string) => ({
  model_provider: "scripted",
  model_providers: {
    scripted: {
      name: "Scripted",
      base_url: `${url}/v1`,
      env_key: "SCRIPTED_KEY",
      wire_api: "responses",
      request_max_retries: 1,
      stream_max_retries: 1,
      supports_websockets: false,
    },
  },
});

function programs(url: string): NonNullable<Config["programs"]> {
  return {
    "claude-code": {
      kind: "claude_code",
      command: [CLAUDE],
      set: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" },
    },
    codex: {
      kind: "acp",
      quirks: "codex",
      command: [process.execPath, CODEX],
      set: { MODEL_PROVIDER: "scripted", SCRIPTED_KEY: "any", CODEX_CONFIG: JSON.stringify(codexConfig(url)) },
      hosts: [new URL(url).host],
      permissions: "allow",
    },
    plain: {
      kind: "autonomous",
      command: [
        "bash",
        "-c",
        `until grep -q 'The colour is' _inbox.md; do sleep 0.05; done
        grep -o 'The colour is [a-z]*' _inbox.md > paint.md; echo 'Painted.' > _result.md`,
      ],
    },
  };
}

/** A mind that follows from what it has been told: it waits for the word, writes it down, passes it on and publishes. */
function mind(request: ProviderRequest): ProviderTurn {
  const words = `${request.system}\n${request.messages.map(({ text }) => text).join("\n")}`;
  const isClaude = request.api === "anthropic";
  const tool = (name: string) => (isClaude ? `mcp__agiraph__${name}` : `mcp__agiraph/${name}`);
  if (!words.includes("How you work")) return { text: "ok" };
  const done = words.includes("Sent to");
  const [heard, passed, to, shell] = isClaude
    ? (["The length is 3", "The width is 4", "Carl", "Bash"] as const)
    : (["The width is 4", "The colour is blue", "Paul", "exec_command"] as const);
  if (!words.includes(heard) && words.includes("Nothing yet.")) return { text: "I wait." };
  if (!words.includes(heard)) return { calls: [{ name: tool("check_messages"), args: { wait: true } }] };
  if (words.includes("noted it")) {
    if (done) return { calls: [{ name: tool("publish"), args: { summary: passed } }] };
    return { calls: [{ name: tool("send_message"), args: { to, content: `${passed}.` } }] };
  }
  const command = `echo '${passed}' > note.md && echo noted it`;
  return { calls: [{ name: shell, args: isClaude ? { command } : { cmd: command } }] };
}

whenBoth("two models, Claude Code, Codex and a plain program coordinate by messages", { timeout: 90_000 }, async () => {
  await using provider = await startProviderServer({ respond: mind });
  const work = (task: string, worker: string, deliverable: string) =>
    call("create_work_node", { task, worker, deliverables: [deliverable] });
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "claude-code" }),
    call("spawn_worker", { name: "Carl", program: "codex", model: "gpt-5.5" }),
    call("spawn_worker", { name: "Paul", program: "plain" }),
    call("spawn_worker", { name: "Alice" }),
    call("spawn_worker", { name: "Bob" }),
    work("Find the width.", "Clara", "note.md"),
    work("Find the colour.", "Carl", "note.md"),
    work("Paint it.", "Paul", "paint.md"),
    work("Measure.", "Alice", "m.md"),
    call("finish", { summary: "painted" }).after(
      "node-1 completed",
      "node-2 completed",
      "node-3 completed",
      "node-4 completed",
    ),
  );
  const workers = {
    Alice: script(
      call("send_message", { to: "Clara", content: "The length is 3." }),
      call("create_work_node", { task: "Check it.", worker: "Bob", deliverables: ["check.md"] }),
      call("write_file", { path: "scratch/m.md", content: "3" }).after("node-5 completed"),
      call("publish", { summary: "Measured." }),
    ),
    Bob: script(
      call("write_file", { path: "scratch/check.md", content: "ok" }),
      call("publish", { summary: "Checked." }),
    ),
  };
  await using team = await startTeam({
    goal: "g",
    coordinator,
    workers,
    config: { programs: programs(provider.url), max_concurrent: 6 },
    env: { PATH: process.env.PATH },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "painted" });
  expect(
    team.board().map((node) => [node.status, "worker_id" in node && node.worker_id, "summary" in node && node.summary]),
  ).toEqual([
    ["completed", "clara", "The width is 4"],
    ["completed", "carl", "The colour is blue"],
    ["completed", "paul", "Painted."],
    ["completed", "alice", "Measured."],
    ["completed", "bob", "Checked."],
  ]);
  const sent = (await team.facts()).flatMap((fact) => (fact.type === "message.sent" ? [fact.data] : []));
  expect(sent.map(({ from, to, text }) => `${from} to ${to}: ${text}`)).toEqual([
    "alice to clara: The length is 3.",
    "clara to carl: The width is 4.",
    "carl to paul: The colour is blue.",
  ]);
});
