import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { readDeclared } from "../../src/mesh/declaration/declared-mesh.ts";
import { titleOf } from "../../src/mesh/files/message-file.ts";
import {
  BUNDLED,
  buildPrompt,
  bundledMeshes,
  copyBundled,
  Layout,
  type MeshMessage,
  promptText,
  readMesh,
} from "../../src/mesh/index.ts";
import { isEndOf, type Script, ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";

const projects: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of projects.splice(0)) await project.close();
});

/** An empty project into which bundled meshes are put; their gates are run as they are. */
async function projectWith(meshes: string[], agents: Record<string, Script> = {}): Promise<ScriptedProject> {
  const gates: Record<string, () => Promise<string | null>> = {};
  const project = new ScriptedProject({ configs: [], agents, gates });
  projects.push(project);
  await copyBundled(project.layout, meshes);
  for (const mesh of meshes)
    for (const gate of declaration(mesh).validation_gates)
      gates[gate] = () => runGate(project.layout.gates, gate, project.layout.output(mesh));
  await project.meshes.open();
  return project;
}

function declaration(mesh: string): { validation_gates: string[] } {
  return JSON.parse(readFileSync(join(BUNDLED.configs, `${mesh}.json`), "utf8"));
}

function runGate(gates: string, gate: string, cwd: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile("/bin/sh", [join(gates, `${gate}.sh`)], { cwd }, (error, stdout) => resolve(error ? stdout.trim() : null));
  });
}

/** Files of shared/output, written in this order, each later than the one before whatever the clock's grain is. */
function writer(layout: () => Layout, mesh: string) {
  let second = 1_700_000_000;
  return (name: string, text: string) => {
    const path = join(layout().output(mesh), name);
    writeFileSync(path, text);
    utimesSync(path, ++second, second);
  };
}

const gatesOf = ({ facts }: ScriptedProject) =>
  facts.flatMap((fact) => (fact.type === "mesh.gate" ? [[fact.data.gate, fact.data.ok, fact.data.why]] : []));
const answersOf = ({ facts }: ScriptedProject, mesh: string) =>
  facts.filter(isEndOf(mesh)).map(({ type, data }) => [type, "gist" in data ? data.gist : ""]);

test("the meshes that come with us are valid, and every name in them is a file", async () => {
  const { meshes, problems } = await readDeclared(BUNDLED);
  expect(problems).toEqual([]);
  expect([...meshes.values()].map(({ config: { mesh }, topology, entry }) => [mesh, topology, entry])).toEqual([
    ["plan-build-test", "hierarchical", "planner"],
    ["research", "map-reduce", "searcher-broad"],
    ["review", "sequential", "reviewer"],
    ["tour", "sequential", "counter"],
  ]);
  for (const mesh of meshes.values()) {
    for (const agent of mesh.agents.values()) {
      const sections = buildPrompt(mesh, agent);
      const names = [...(mesh.config.capabilities ?? []), ...(agent.config.capabilities ?? [])];
      const files = sections.find(({ title }) => title === "Capabilities")?.from ?? [];
      // A capability without a file would be a bare word in the prompt.
      expect(files.map((file) => file.split("/").at(-1))).toEqual(names.map((name) => `${name}.md`));
      expect(sections.map(({ title }) => title)).toContain("Agent Prompt");
      expect(promptText(sections)).not.toContain("{{");
      expect(agent.config.description).toBeTruthy();
    }
  }
});

test.each([
  ["model", /tx (?:done|send|ask|next)|\/tx-|\/search |\/ask |\.ai\/|\$TX_|_outbox/],
  ["tools", /tx (?:done|send|ask|next)|\/tx-|\/search |\/ask |\$TX_|_outbox/],
  ["files", /tx (?:done|send|ask|next)|tx_\w|\/tx-|\/search |\/ask |(?<!\$TX_PROJECT\/)\.ai\//],
  ["terminal", /tx_\w|\$TX_|_outbox/],
] as const)("one that speaks by %s is told no word of another way", async (by, others) => {
  const { meshes } = await readDeclared(BUNDLED);
  for (const mesh of meshes.values())
    for (const agent of mesh.agents.values()) expect(promptText(buildPrompt(mesh, agent, by))).not.toMatch(others);
});

test("what a bundled prompt names is there for the one who reads it, whichever way it speaks", async () => {
  const mesh = readMesh(BUNDLED, "review");
  const fixer = mesh.agents.get("fixer");
  if (!fixer) throw new Error("It is declared.");
  const said = (by: "terminal" | "tools" | "model" | "files") => {
    const text = promptText(buildPrompt(mesh, fixer, by));
    const lines = [
      /^A review has been written: (.*)\. You go/,
      /ask the reviewer (.*)\.$/,
      /would have to change (.*)\.$/,
    ];
    return lines.map((line) => text.split("\n").flatMap((one) => line.exec(one)?.[1] ?? [])[0]);
  };
  expect(said("terminal")).toEqual([
    "`.ai/tx/mesh/review/shared/output/review.md`",
    '(`tx ask AGENT "question"`)',
    '(`tx done --failed "why"`)',
  ]);
  expect(said("tools")).toEqual([
    "`.ai/tx/mesh/review/shared/output/review.md`",
    "(`tx_ask`)",
    "(`tx_done` with `failed`)",
  ]);
  expect(said("model")).toEqual(["`shared/output/review.md`", "(`tx_ask`)", "(`tx_done` with `failed`)"]);
  expect(said("files")).toEqual([
    "`$TX_OUTPUT/review.md`",
    "(`_outbox.md`)",
    "(to standard error, with an exit code other than 0)",
  ]);
});

test("each has all it needs when it is put into a project, and what the project has of its own stays", async () => {
  for (const mesh of await bundledMeshes()) {
    const project = await projectWith([mesh]);
    expect([...project.meshes.meshes.keys()]).toEqual([mesh]);
    expect(project.meshes.problems).toEqual(new Map());
  }
  const project = await projectWith([]);
  project.write("meshes/agents/review/fixer/prompt.md", "Ours.\n");
  const first = await copyBundled(project.layout, ["review"]);
  expect(first.kept).toEqual(["meshes/agents/review/fixer/prompt.md"]);
  expect(first.made).toContain("meshes/mesh-configs/review.json");
  expect(readFileSync(join(project.dir, "meshes/agents/review/fixer/prompt.md"), "utf8")).toBe("Ours.\n");
  const second = await copyBundled(project.layout, ["review"]);
  expect(second).toEqual({ made: [], kept: [...first.made, ...first.kept].toSorted() });
  expect(readdirSync(project.layout.gates)).toEqual(["findings-settled.sh"]);
});

test("tx init puts those that are named into a folder, and says which there are", async () => {
  const project = await projectWith([]);
  const tx = (...words: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const main = join(import.meta.dirname, "../../dist/bundle/tx.js");
      const options = { cwd: project.dir, env: { PATH: process.env.PATH, HOME: project.dir } };
      execFile(process.execPath, [main, ...words], options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  const { code, stdout } = await tx("init", "research", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ project: project.dir, meshes: ["research"], kept: [] });
  expect(readdirSync(project.layout.configs)).toEqual(["research.json"]);
  const refused = await tx("init", "reserch");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(
    'There is no bundled mesh "reserch". Did you mean research? Choose from: plan-build-test, research, review, tour.',
  );
});

test("tx init says which programs are not here, and begins with a mesh that can run", async () => {
  const project = await projectWith([]);
  const bin = join(project.dir, "bin");
  mkdirSync(bin);
  const init = () =>
    new Promise<string>((resolve) => {
      const main = join(import.meta.dirname, "../../dist/bundle/tx.js");
      const options = { cwd: project.dir, env: { PATH: bin, HOME: project.dir } };
      execFile(process.execPath, [main, "init"], options, (_, __, stderr) => resolve(stderr));
    });
  const without = await init();
  expect(without).toContain("Not installed: claude-code (needed by plan-build-test, research, review).");
  expect(without).toContain('tx start, then tx send tour "');
  writeFileSync(join(bin, "claude"), "#!/bin/sh\n", { mode: 0o755 });
  const having = await init();
  expect(having).not.toContain("Not installed");
  expect(having).toContain('tx start, then tx send plan-build-test "');
});

test("research: three search at once, one sums up, and a report with a claim from nowhere goes back", async () => {
  const write = writer(() => project.layout, "research");
  const searcher =
    (side: string): Script =>
    (_, say) => {
      write(`findings-${side}.md`, `## Sources\n\n[1] The ${side} source\n`);
      say("mesh", "task-complete", `Found by the ${side} way.\n`);
    };
  const handedOn: string[] = [];
  const report = (cited: string) =>
    write("report.md", `# Q\n\n## Answer\n\nB is faster ${cited}.\n\n## Sources\n\n[1] A measurement\n`);
  const synthesiser: Script = ({ header, body }, say) => {
    if (header.step === "reduce.0") handedOn.push(body);
    report(header.step === "reduce.0" ? "[1], and cheaper [2]" : "[1]");
    say("mesh", "task-complete", "B is faster.\n");
  };
  const project = await projectWith(["research"], {
    "searcher-broad": searcher("broad"),
    "searcher-primary": searcher("primary"),
    "searcher-contrary": searcher("contrary"),
    synthesiser,
  });
  project.send("research", "chips.md", "# Which chip is faster?\n");
  await project.until(isEndOf("research"));
  for (const side of ["broad", "primary", "contrary"]) expect(handedOn[0]).toContain(`Found by the ${side} way.`);
  expect(gatesOf(project)).toEqual([
    ["report-cited", false, "[2] is cited, but is not among the sources."],
    ["report-cited", true, ""],
  ]);
  expect(correction(project, "synthesiser")).toContain("[2] is cited, but is not among the sources.");
  expect(answersOf(project, "research")).toEqual([["mesh.completed", "B is faster."]]);
});

test("review: a high finding that is left goes back to the verifier, who has it fixed", async () => {
  const write = writer(() => project.layout, "review");
  const order: string[] = [];
  const verdict = (line: string) =>
    write("verdict.md", `- F1: ${line}\n- F2: dismissed. It cannot be empty.\n\nVerdict: pass\n`);
  const project = await projectWith(["review"], {
    reviewer(_, say) {
      order.push("reviewer");
      write("review.md", "### F1 (high) a.ts:3: it loses the last line\n\n### F2 (low) a.ts:9: empty input\n");
      say("mesh", "task-complete", "One high, one low.\n");
    },
    fixer({ header }, say) {
      order.push(`fixer for ${header.from}`);
      write("fixes.md", header.from === "review/verifier" ? "- F1: fixed.\n" : "- F1: left.\n- F2: no defect.\n");
      say("mesh", "task-complete", "Settled.\n");
    },
    verifier({ header }, say) {
      order.push(`verifier ${header.type} ${header.step ?? ""}`.trim());
      if (header.step === "2") {
        verdict("left. Nobody will notice.");
        say("mesh", "task-complete", "It passes.\n");
      } else if (header.type === "task") say("fixer", "task", "# F1 is still open\n");
      else {
        verdict("settled. The last line is there now.");
        say("mesh", "task-complete", "It passes, with F1 fixed.\n");
      }
    },
  });
  project.send("review", "change.md", "# Review the last commit\n");
  await project.until(isEndOf("review"));
  expect(order).toEqual([
    "reviewer",
    "fixer for review/reviewer",
    "verifier task 2",
    "verifier task fix-1",
    "fixer for review/verifier",
    "verifier task-complete",
  ]);
  expect(gatesOf(project)).toEqual([
    ["findings-settled", false, "F1 is high and cannot be left."],
    ["findings-settled", true, ""],
  ]);
  expect(answersOf(project, "review")).toEqual([["mesh.completed", "It passes, with F1 fixed."]]);
});

test("plan-build-test: the planner hands out parts; what the tester's own script refutes goes back to the planner", async () => {
  const write = writer(() => project.layout, "plan-build-test");
  const order: string[] = [];
  let round = 0;
  const project = await projectWith(["plan-build-test"], {
    planner({ header, body }, say) {
      order.push(`planner ${header.type} ${titleOf(body)}`);
      if (header.step === "0")
        write("plan.md", "## Criteria\n\n- A1: Given two numbers, when added, then their sum.\n");
      if (header.type === "task") say("builder", "task", "# Build the adder\n");
      else if (header.from === "plan-build-test/builder") say("tester", "task", "# Prove A1\n");
      else say("mesh", "task-complete", "It adds.\n");
    },
    builder(_, say) {
      project.write("adder.sh", `echo $(($1 ${++round === 1 ? "-" : "+"} $2))\n`);
      say("mesh", "task-complete", "Built.\n");
    },
    tester(_, say) {
      write("check.sh", '[ "$(sh adder.sh 2 3)" = 5 ] || { echo "2 and 3 give $(sh adder.sh 2 3)"; exit 1; }\n');
      write("test-report.md", "- A1: pass. check.sh\n\nResult: pass\n");
      say("mesh", "task-complete", "It passes.\n");
    },
  });
  project.send("plan-build-test", "adder.md", "# Build an adder\n");
  await project.until(isEndOf("plan-build-test"));
  expect(order).toEqual([
    "planner task Build an adder",
    "planner task-complete Done: Build the adder",
    "planner task-complete Done: Prove A1",
    "planner task Correct what did not pass",
    "planner task-complete Done: Build the adder",
    "planner task-complete Done: Prove A1",
  ]);
  expect(gatesOf(project)).toEqual([
    ["criteria-proved", false, "check.sh does not succeed. Its last lines:"],
    ["criteria-proved", true, ""],
  ]);
  expect(correction(project, "planner")).toContain("2 and 3 give -1");
  expect(answersOf(project, "plan-build-test")).toEqual([["mesh.completed", "It adds."]]);
});

/** What an agent was told to correct. */
function correction({ heard }: ScriptedProject, who: string): string {
  const isIt = ({ agent, message }: { agent: string; message: MeshMessage }) =>
    agent === who && message.header.step === "fix-1";
  return heard.find(isIt)?.message.body ?? "";
}

test.each([
  ["report-cited", { "report.md": "" }, "There is no report.md in shared/output/, or it is empty."],
  ["report-cited", { "report.md": "## Answer\n\nYes [1].\n" }, 'report.md has no "## Sources".'],
  [
    "report-cited",
    { "report.md": "## Answer\n\nYes.\n\n## Sources\n\n[1] One\n" },
    "Source [1] is never cited.\nNothing in report.md is cited: every claim that a reader might doubt needs a source, as [1].",
  ],
  [
    "report-cited",
    { "report.md": "## Answer\n\nYes [1].\n\n## Sources\n\n[1] One\n", "findings-broad.md": "newer\n" },
    "report.md is older than findings-broad.md: it is of an earlier task. Write it anew.",
  ],
  ["report-cited", { "report.md": "## Answer\n\n`a[7]` [1, 2].\n\n## Sources\n\n- [1] One\n- [2] Two\n" }, null],
  ["findings-settled", { "review.md": "No findings. All of it.\n", "verdict.md": "Verdict: pass\n" }, null],
  [
    "findings-settled",
    {
      "review.md": "### F1 (low) x\n### F2 y\n",
      "verdict.md": "- F1: open. Still.\n- F2: settled. Yes.\n\nVerdict: fail\n",
    },
    "F2 has no severity in review.md: (critical), (high), (medium) or (low).\nF1 (low) is still open.\nThe verdict is fail.",
  ],
  [
    "findings-settled",
    { "verdict.md": "Verdict: pass\n", "review.md": "### F12 (low) x\n" },
    "verdict.md is older than review.md: it is of an earlier task. Write it anew.",
  ],
  [
    "criteria-proved",
    { "plan.md": "- A1: x\n- A2: y\n- A3: z\n", "test-report.md": "- A1: fail. No.\n- A2: pass.\n" },
    'A1 fails.\nA2 is said to pass, without evidence on its line.\nA3 has no line in test-report.md: - A3: pass, or fail, and the evidence.\ntest-report.md has no line "Result: pass" or "Result: fail".',
  ],
  ["criteria-proved", { "plan.md": "- A1: x\n", "test-report.md": "- A1: pass. Ran it.\n\nResult: pass\n" }, null],
])("the gate %s says what is missing: %j", async (gate, files, said) => {
  const project = await projectWith([]);
  const layout = new Layout(project.dir);
  project.write(".ai/tx/mesh/any/shared/output/.keep", "");
  const write = writer(() => layout, "any");
  for (const [name, text] of Object.entries(files)) write(name, text);
  expect(await runGate(BUNDLED.gates, gate, layout.output("any"))).toBe(said);
});
