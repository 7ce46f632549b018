import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, script, startTeam } from "../../src/testing/index.ts";

/** Seed 002 §11, test 10: mixed team with messaging. */
const GOAL =
  "Create a Python package with a module, tests, and documentation. The code writer and test writer should coordinate.";
const BROKEN = "def reverse_words(text):\n    return text[::-1]\n";
const MENDED = 'def reverse_words(text):\n    return " ".join(reversed(text.split()))\n';
const TESTS =
  'from strutils import reverse_words\n\ndef test_reverse_words():\n    assert reverse_words("a bc") == "bc a"\n';
const README = "# strutils\n\n`reverse_words` turns the order of words around.\n";

test("a coder and a tester write to each other until the code is right, and a third documents what they published", async () => {
  const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
  await using team = await startTeam({
    goal: GOAL,
    coordinator: script(
      both(...["Alice", "Bob", "Carol"].map((name) => call("spawn_worker", { name }))),
      both(
        call("create_work_node", {
          worker: "Alice",
          task: "Write a Python module for string utilities. Bob tests it: agree with him.",
          deliverables: ["strutils.py"],
        }),
        call("create_work_node", {
          worker: "Bob",
          task: "Write tests for the string utilities module that Alice writes.",
          deliverables: ["test_strutils.py"],
        }),
        call("create_work_node", {
          worker: "Carol",
          task: "Write README documentation",
          deliverables: ["README.md"],
          // What it reads must be there first: the node waits for both.
          refs: { code: "node-1/published/strutils.py", tests: "node-2/published/test_strutils.py" },
        }),
      ),
      call("finish", { summary: "Module, tests and README are published." }).after(
        "node-1 completed",
        "node-2 completed",
        "node-3 completed",
      ),
    ),
    workers: {
      Alice: script(
        written("strutils.py", BROKEN),
        // Scratch is private, so the words themselves travel.
        call("send_message", { to: "Bob", content: `Module is strutils.py:\n${BROKEN}` }).until(bobIsThere()),
        call("check_messages", { wait: true }),
        written("strutils.py", MENDED).after("[Message from Bob]: Found a bug in reverse_words()"),
        call("send_message", { to: "Bob", content: `Fixed:\n${MENDED}` }),
        call("check_messages", { wait: true }),
        call("checkpoint", { summary: "The module is right" }).after("[Message from Bob]: All tests pass"),
        call("publish", { summary: "strutils.py" }),
      ),
      Bob: script(
        call("check_messages", { wait: true }),
        written("test_strutils.py", TESTS).after("[Message from Alice]: Module is strutils.py", "text[::-1]"),
        call("send_message", { to: "Alice", content: "Found a bug in reverse_words(): it reverses letters." }),
        call("check_messages", { wait: true }),
        call("send_message", { to: "Alice", content: "All tests pass." }).after("[Message from Alice]: Fixed:"),
        call("checkpoint", { summary: "The tests pass" }),
        call("publish", { summary: "test_strutils.py" }),
      ),
      Carol: script(
        both(call("read_ref", { ref_name: "code" }), call("read_ref", { ref_name: "tests" })),
        written("README.md", README).after("reversed(text.split())", "from strutils import reverse_words"),
        call("checkpoint", { summary: "Documented" }),
        call("publish", { summary: "README.md" }),
      ),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.started" && fact.data.node_id === "node-2") bob.resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Module, tests and README are published." });

  // Messages were exchanged between workers
  // At least one back-and-forth message exchange
  const sent = (await team.facts()).flatMap((fact) =>
    fact.type === "message.sent"
      ? [[fact.data.from, fact.data.to, fact.data.text.split("\n", 1)[0], fact.data.hops]]
      : [],
  );
  expect(sent).toEqual([
    ["alice", "bob", "Module is strutils.py:", 1],
    ["bob", "alice", "Found a bug in reverse_words(): it reverses letters.", 2],
    ["alice", "bob", "Fixed:", 3],
    ["bob", "alice", "All tests pass.", 4],
  ]);
  expect(await readdir(join(team.agent.log.dir, "runs/run-1/_messages"))).toEqual([
    "0001_alice_to_bob.md",
    "0002_bob_to_alice.md",
    "0003_alice_to_bob.md",
    "0004_bob_to_alice.md",
  ]);
  // each of them was seen
  expect(team.agent.now.letters.settled.map((letter) => letter.status)).toEqual(["seen", "seen", "seen", "seen"]);

  // Worker B's tests import/reference Worker A's code
  // Final workspace has code + tests + docs
  const published = (path: string) => readFile(join(team.agent.log.dir, "runs/run-1/nodes", path), "utf8");
  expect(await published("node-1/published/strutils.py")).toBe(MENDED);
  expect(await published("node-2/published/test_strutils.py")).toBe(TESTS);
  expect(await published("node-3/published/README.md")).toBe(README);

  // All checkpoint
  const checkpoints = (await team.facts()).flatMap((fact) =>
    fact.type === "worker.checkpointed" ? [`${fact.data.worker_id}: ${fact.data.summary}`] : [],
  );
  expect(checkpoints.toSorted()).toEqual(["alice: The module is right", "bob: The tests pass", "carol: Documented"]);

  // Worker C reads both: its node came after them, though nobody listed them as dependencies
  expect(team.board().map((node) => node.spec.dependencies)).toEqual([[], [], ["node-1", "node-2"]]);
});

const bob = Promise.withResolvers<void>();
function bobIsThere(): Promise<void> {
  return bob.promise;
}
